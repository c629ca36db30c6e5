/** Parses the query of a URL that begins a sign-in. Pure. */
import { parseConsoleGoal } from "./console-goal.ts";
import { SignInRefusal } from "./refusal.ts";
import { parseReturnUrl } from "./return-url.ts";

/** The recipient of the login. */
export type Goal =
  /** A program on the same machine receives tokens through a redirect of the browser. `client` may be empty. */
  | { readonly kind: "program"; readonly returnUrl: string; readonly client: string }
  /** The web console of this server receives a code, bound to its PKCE challenge (RFC 7636). */
  | { readonly kind: "console"; readonly challenge: string; readonly state: string }
  /** The page shows the token. */
  | { readonly kind: "page" }
  /** A program on another machine fetches the login, encrypted for its key. */
  | { readonly kind: "headless"; readonly code: string }
  /** A device receives the login (RFC 8628). */
  | { readonly kind: "device"; readonly deviceHash: string; readonly userCode: string; readonly clientId: string };

export interface SignInRequest {
  readonly goal: Goal;
  readonly audience: readonly string[];
  readonly scopes: readonly string[];
  /** Uid of an identity to assume; empty for the person's own. */
  readonly identity: string;
  /** Invite code; empty for none. */
  readonly invite: string;
  /** Uid of the organization that the person signs in for; left out where it is not known. */
  readonly organization?: string;
  readonly skipRegistration: boolean;
  readonly wantsRefreshToken: boolean;
}

/** The provider that the request asks for. */
export interface RequestedProvider {
  /** Uid of an identity provider, or the name of a verified organization; empty where none is named. */
  readonly provider: string;
  /** Whether the request asks for the operator's provider. */
  readonly wantsOperator: boolean;
  /** Parameters passed on to the operator's provider. */
  readonly hints: Readonly<Record<string, string>>;
}

/** An X25519 public key: 32 bytes in base64url without padding. */
const HEADLESS_CODE = /^[A-Za-z0-9_-]{43}$/;
const HINT = /^[A-Za-z0-9._-]{1,64}$/;
const MAX_NAME_LENGTH = 1100;

/** @throws SignInRefusal */
export function parseSignInRequest(query: URLSearchParams): SignInRequest {
  return {
    goal: parseGoal(query),
    audience: query
      .getAll("audience")
      .flatMap((list) => list.split(","))
      .filter((audience) => audience !== ""),
    scopes: query.getAll("scope").map(decodeTwice),
    identity: query.get("identity") ?? "",
    invite: query.get("invite") ?? "",
    organization: query.get("organization") ?? "",
    skipRegistration: query.get("skip_registration") === "true",
    wantsRefreshToken: query.get("create_refresh_token") === "true",
  };
}

function parseGoal(query: URLSearchParams): Goal {
  const code = query.get("headless_code");
  const redirect = query.get("redirect");
  if (code !== null) {
    if (!HEADLESS_CODE.test(code) || Buffer.from(code, "base64url").toString("base64url") !== code)
      throw new SignInRefusal(
        400,
        "The code in this address is not complete. Copy the whole address that the program on the other machine shows.",
      );
    return { kind: "headless", code };
  }
  if (query.get("response_type") === "code") return parseConsoleGoal(query);
  if (redirect !== null) return { kind: "program", returnUrl: parseReturnUrl(redirect), client: query.get("client_id") ?? "" };
  if ((query.get("exit") ?? "") === "redirect")
    throw new SignInRefusal(400, "The program that sent you here does not say which address it waits at. Start the sign-in from it again.");
  return { kind: "page" };
}

export function parseRequestedProvider(query: URLSearchParams): RequestedProvider {
  const provider = (query.get("idp_id") ?? "").trim().slice(0, MAX_NAME_LENGTH);
  const hints = ["connection", "screen_hint"].flatMap((name): [string, string][] => {
    const value = query.get(name) ?? "";
    return HINT.test(value) ? [[name, value]] : [];
  });
  const wantsOperator = provider === "" && ((query.get("client_id") ?? "") !== "" || (query.get("connection") ?? "") !== "");
  return { provider, wantsOperator, hints: Object.fromEntries(hints) };
}

/** Clients percent-encode the uids of groups twice, and the query was decoded once. */
function decodeTwice(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
