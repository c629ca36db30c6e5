/** A request to an address that a caller supplied, its limits, and its response. */

/** Default limit of a response body. */
export const DEFAULT_MAX_BYTES = 1024 * 1024;

export interface OutboundLimits {
  readonly signal?: AbortSignal | undefined;
  /** Covers everything from the name lookup to the last byte of the body. Default 10 s. */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of the response body. Default 1 MiB. */
  readonly maxBytes?: number | undefined;
}

export interface OutboundRequest extends OutboundLimits, RedirectOptions {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * Discards the response body, which is read only so that the connection can be reused. If the body exceeds `maxBytes`
   * or a second, the connection is closed without an error.
   */
  readonly ignoreBody?: boolean;
  /** Bytes of an ignored body that are returned all the same; none by default. */
  readonly keepBytes?: number;
  /**
   * Receives the body of a 200 response chunk by chunk; the response's own `body` is then empty. The next chunk waits
   * until the promise resolves.
   */
  readonly onBody?: ((chunk: Buffer, headers: OutboundResponse["headers"]) => Promise<void>) | undefined;
}

/** Follows redirects of GET requests. `timeoutMs` covers all hops together. */
export interface RedirectOptions {
  /** Redirects that are followed; none by default. */
  readonly maxRedirects?: number;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}
