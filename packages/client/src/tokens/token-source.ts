/** Sources of access tokens. They compose: an exchange takes a source of subject tokens. */

export interface Token {
  readonly token: string;
  /** Undefined if the token does not say. */
  readonly expiry: Date | undefined;
}

/** Gets a token. Called again whenever one is needed; wrap it with `cached` if a call costs something. */
export type TokenSource = (signal?: AbortSignal) => Promise<Token>;

/** The same token for ever, for scripts. */
export function fixedToken(token: string): TokenSource {
  return async () => tokenOf(token);
}

/** Reads the expiry from a JWT, without verification. Other tokens have none. */
export function tokenOf(token: string): Token {
  return { token, expiry: expiryOf(token) };
}

function expiryOf(token: string): Date | undefined {
  try {
    const claims = JSON.parse(atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"))) as { exp?: unknown };
    return typeof claims.exp === "number" ? new Date(claims.exp * 1000) : undefined;
  } catch {
    return undefined;
  }
}

export interface CacheOptions {
  /** A token is renewed when less than this is left of it; default 60 seconds. */
  readonly renewBeforeMs?: number;
  /** How long a renewal may take; default 60 seconds. */
  readonly timeoutMs?: number;
  readonly now?: () => Date;
}

/** Keeps the token until shortly before it expires. Calls at the same time share one renewal; a failed one is not kept. */
export function cached(
  source: TokenSource,
  { renewBeforeMs = 60_000, timeoutMs = 60_000, now = () => new Date() }: CacheOptions = {},
): TokenSource {
  let current: Promise<Token> | undefined;
  let expiresAt = 0;
  return async (signal) => {
    if (current === undefined || now().getTime() > expiresAt - renewBeforeMs) {
      // Until the renewal ends, all callers wait for it. One caller's cancellation must not end it for the others.
      expiresAt = Number.POSITIVE_INFINITY;
      const renewal = tokenBefore(AbortSignal.timeout(timeoutMs), source);
      current = renewal;
      renewal.then(
        ({ expiry }) => {
          expiresAt = expiry?.getTime() ?? Number.POSITIVE_INFINITY;
        },
        () => {
          if (current === renewal) current = undefined;
        },
      );
    }
    const renewed = current;
    return signal === undefined ? renewed : tokenBefore(signal, () => renewed);
  };
}

/** Waits for a token until the signal is aborted, also if the source does not listen to it. Rejects with the reason of the signal. */
export function tokenBefore(signal: AbortSignal, source: TokenSource): Promise<Token> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    source(signal)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}
