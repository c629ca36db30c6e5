/** Declares the requests that a token exchange takes. */
import type { LoginClient, LoginOrigin } from "../sessions/login-session.ts";

export interface RefreshRequest {
  /** The token after `Bearer`; undefined if there was none. */
  readonly bearer: string | undefined;
  readonly aud: readonly string[];
  /** The request's `scope` and `scopes` together. */
  readonly scopes: readonly string[];
  /** Names of capabilities. */
  readonly cap: readonly string[];
  /** Client and address of the request, stored in the session. */
  readonly origin?: LoginOrigin;
}

export interface ExchangeRequest extends RefreshRequest {
  /** Uid of the identity to assume, or the empty string. */
  readonly identity: string;
  /** Uid of the identity provider that issued the token; may be empty. */
  readonly identityProvider?: string;
}

/** Request of a person who has just logged in. */
export interface LoginRequest extends Omit<RefreshRequest, "bearer"> {
  /** Uid of an identity to assume, or the empty string. */
  readonly identity: string;
  readonly wantsRefreshToken: boolean;
  /** Whether the refresh token is the secret of a browser's session instead. */
  readonly isForBrowser?: boolean;
}

/** A browser that shows the secret of its session. */
export interface BrowserCookie {
  readonly secret: string;
  readonly client: LoginClient;
}
