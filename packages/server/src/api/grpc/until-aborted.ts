/** Ends the wait for a call of gRPC-Web, Connect or a health check when it is aborted. Native gRPC has `CallWait`. */

/** Settles like `result`, or rejects with the signal's reason, whichever comes first. */
export function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    result.then(resolve, reject);
  });
}
