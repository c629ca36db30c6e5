/** The wait for one call: it ends with the reply, or earlier when the caller leaves or its deadline passes. */

export class CallWait {
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  #reject: ((reason: Error) => void) | undefined;

  /** Ends the wait. The first reason counts. */
  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#reject?.(reason);
  }

  /** Aborted with the wait. Made on demand, because few handlers need it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Settles like `result`, or rejects with the reason for which the wait ended, whichever comes first. Called once. */
  until<T>(result: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (this.#reason !== undefined) reject(this.#reason);
      result.then(resolve, reject);
    });
  }
}
