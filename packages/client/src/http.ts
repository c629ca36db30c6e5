/** Single requests to other servers than Holt: registries that images are copied from, and receivers of events. */

export interface HttpRequest {
  readonly method: string;
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | URLSearchParams | ReadableStream<Uint8Array>;
  readonly signal: AbortSignal;
  /** How long to wait for the headers of the answer. Its body, and a stream that is sent, take as long as they take. */
  readonly timeoutMs: number;
}

/** The host did not answer. The message says why, and names no token. */
export class HostUnreachable extends Error {
  override readonly name = "HostUnreachable";
}

/** Follows no redirect for requests with a body. Any answer is returned; rejects with HostUnreachable, or when the signal is aborted. */
export async function sendHttp({ method, url, headers = {}, body, signal, timeoutMs }: HttpRequest): Promise<Response> {
  const timeout = new AbortController();
  const isStream = body instanceof ReadableStream;
  const timer = isStream ? undefined : setTimeout(() => timeout.abort(), timeoutMs);
  const redirect = method === "GET" || method === "HEAD" ? "follow" : "manual";
  const init = {
    method,
    headers,
    redirect,
    signal: AbortSignal.any([signal, timeout.signal]),
    ...(body !== undefined && { body }),
  } as const;
  try {
    // Without `duplex`, fetch refuses a stream.
    return await fetch(url, isStream ? ({ ...init, duplex: "half" } as RequestInit) : init);
  } catch (error) {
    signal.throwIfAborted();
    const { message, cause } = error as Error & { cause?: Error };
    const reason = timeout.signal.aborted ? "it did not answer in time" : cause?.message || message;
    throw new HostUnreachable(reason, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
