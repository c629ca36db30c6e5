/** What somebody who begins a sign-in asks for, read from the query of the URL. Pure. */
import { SignInRefusal } from "./refusal.ts";
import { parseReturnUrl } from "./return-url.ts";

/** What becomes of the login. */
export type Goal =
  /** A program on the same machine gets tokens by way of the browser. */
  | { readonly kind: "program"; readonly returnUrl: string }
  /** The page shows the token. */
  | { readonly kind: "page" }
  /** A program elsewhere fetches it, encrypted for its key. */
  | { readonly kind: "headless"; readonly code: string }
  /** A device gets it (RFC 8628). */
  | { readonly kind: "device"; readonly deviceHash: string; readonly userCode: string; readonly clientId: string };

export interface SignInRequest {
  readonly goal: Goal;
  readonly audience: readonly string[];
  readonly scopes: readonly string[];
  /** Uid of an identity to assume; empty for the person's own. */
  readonly identity: string;
  /** Code of an invite; empty for none. */
  readonly invite: string;
  readonly skipRegistration: boolean;
  readonly wantsRefreshToken: boolean;
}

/** Which way to sign in is wanted, as far as that is said. */
export interface Way {
  /** Uid of an identity provider, or the name of a verified organization; empty where none is named. */
  readonly provider: string;
  /** Whether the operator's own provider is asked for. */
  readonly operators: boolean;
  /** For the operator's provider, which may know what to do with them. */
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
    skipRegistration: query.get("skip_registration") === "true",
    wantsRefreshToken: query.get("create_refresh_token") === "true",
  };
}

function parseGoal(query: URLSearchParams): Goal {
  const [code, redirect] = [query.get("headless_code"), query.get("redirect")];
  if (code !== null) {
    if (!HEADLESS_CODE.test(code) || Buffer.from(code, "base64url").toString("base64url") !== code)
      throw new SignInRefusal(
        400,
        "The code in this address is not complete. Copy the whole address that the program on the other machine shows.",
      );
    return { kind: "headless", code };
  }
  if (redirect !== null) return { kind: "program", returnUrl: parseReturnUrl(redirect) };
  if ((query.get("exit") ?? "") === "redirect")
    throw new SignInRefusal(
      400,
      "The program that sent you here does not say where it waits for the answer. Start the sign-in from it again.",
    );
  return { kind: "page" };
}

export function parseWay(query: URLSearchParams): Way {
  const provider = (query.get("idp_id") ?? "").trim().slice(0, MAX_NAME_LENGTH);
  const hints = ["connection", "screen_hint"].flatMap((name): [string, string][] => {
    const value = query.get(name) ?? "";
    return HINT.test(value) ? [[name, value]] : [];
  });
  const operators = provider === "" && ((query.get("client_id") ?? "") !== "" || (query.get("connection") ?? "") !== "");
  return { provider, operators, hints: Object.fromEntries(hints) };
}

/** Clients escape the uids of groups twice, and the query was unescaped once. */
function decodeTwice(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
