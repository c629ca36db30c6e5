/** One request to sign-in, and the endpoints that serve such requests. */
import type { ProtocolExchange } from "../../http/protocol-frame.ts";
import type { LoginClient } from "../../iam/sessions/login-session.ts";

export interface SignInState {
  /** Undefined for an unknown path. */
  readonly endpoint: Endpoint | undefined;
  /** The body of a POST; empty for other methods. */
  form: URLSearchParams;
}

export type SignInExchange = ProtocolExchange<SignInState>;

/** Where the request comes from, for the session that it begins. */
export function clientOf({ request, remoteAddress }: SignInExchange): LoginClient {
  return { remoteAddress, userAgent: request.headers["user-agent"] };
}

/** An endpoint that is reached with POST takes a form. */
export interface Endpoint {
  readonly method: "GET" | "POST";
  serve(exchange: SignInExchange): Promise<void> | void;
  /** Answers an error. Without it, the error is shown as a page. */
  refuse?(exchange: SignInExchange, error: unknown): void;
}
