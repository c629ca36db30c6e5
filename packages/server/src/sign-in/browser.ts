/** Describes the browser that makes a step of a sign-in. */
import type { LoginClient } from "../iam/sessions/login-session.ts";

/** A browser that begins a sign-in. */
export interface BeginningBrowser {
  /** Value of the browser's cookie, which this response may set. */
  readonly browser: string;
  readonly remoteAddress: string | undefined;
}

/** A browser that answers a page. */
export interface AnsweringBrowser {
  /** Undefined if it has no cookie. */
  readonly browser: string | undefined;
  readonly client: LoginClient;
}

/** A browser that continues a sign-in. */
export interface ReturningBrowser extends AnsweringBrowser {
  /** Keys of the programs that a person has confirmed in it. */
  readonly programs: readonly string[];
}
