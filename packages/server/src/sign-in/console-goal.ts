/** The web console as the recipient of a login: it gets a code, and redeems it with the verifier of its PKCE challenge (RFC 7636). */
import { createHash } from "node:crypto";
import type { WriteDb } from "../db/store.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import type { StoredLogin } from "../iam/tokens/login-token.ts";
import { insertPending, randomSecret, takePending } from "./pending.ts";
import { SignInRefusal } from "./refusal.ts";
import type { Goal } from "./request.ts";

export type ConsoleGoal = Extract<Goal, { kind: "console" }>;

/** The one address of this server that codes go to. */
const RETURN_PATH = "/console/sign-in";
/** The console redeems a code at once. */
const CODE_LIFETIME_MS = 60_000;
/** 32 bytes in base64url without padding. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** @throws SignInRefusal */
export function parseConsoleGoal(query: URLSearchParams): ConsoleGoal {
  const challenge = query.get("code_challenge") ?? "";
  const state = query.get("state") ?? "";
  const isComplete = CHALLENGE.test(challenge) && CHALLENGE.test(state) && query.get("code_challenge_method") === "S256";
  if (!isComplete || query.get("redirect_uri") !== RETURN_PATH)
    throw new SignInRefusal(400, "Only the console of this server can ask for a code. Open the console and sign in there.");
  return { kind: "console", challenge, state };
}

/** @returns the code */
export async function insertCode(
  db: WriteDb,
  { goal, login }: { readonly goal: ConsoleGoal; readonly login: StoredLogin },
  now: Date,
  secrets: Secrets,
): Promise<string> {
  const code = randomSecret();
  const step = { handle: code, browser: goal.challenge, stage: "code", content: login, lifetimeMs: CODE_LIFETIME_MS } as const;
  await insertPending(db, step, now, secrets);
  return code;
}

/** @returns undefined if the code is unknown, used or expired, or the verifier is not that of the challenge */
export function takeCode(
  db: WriteDb,
  { code, verifier }: { readonly code: string; readonly verifier: string },
  now: Date,
  secrets: Secrets,
): Promise<StoredLogin | undefined> {
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  return takePending<StoredLogin>(db, { handle: code, browser: challenge, stage: "code" }, now, secrets);
}

/** Relative, so that the browser stays at the address by which the person knows the server. */
export function consoleReturnUrl({ state }: ConsoleGoal, code: string): string {
  return `${RETURN_PATH}?${new URLSearchParams({ code, state })}`;
}
