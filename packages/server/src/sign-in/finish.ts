/** Finishes a sign-in: registers the account, redeems the invite, and delivers the login to its recipient. */

import type { Store, WriteDb } from "../db/store.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { loginFromAccount } from "../iam/identities/user-login.ts";
import type { Registrations } from "../iam/joining/register.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import { insertLoginSession, type LoginClient, type LoginOrigin } from "../iam/sessions/login-session.ts";
import type { TokenExchange } from "../iam/tokens/exchange-token.ts";
import type { Login } from "../iam/tokens/login.ts";
import { type LoginTokens, storedFromLogin } from "../iam/tokens/login-token.ts";
import type { Clock } from "../lib/clock.ts";
import { newUid } from "../lib/uid.ts";
import type { EventNames } from "../outbox/outbox.ts";
import { consoleReturnUrl, insertCode } from "./console-goal.ts";
import { decideDevice } from "./device.ts";
import { encryptForProgram, insertHeadlessSession } from "./headless.ts";
import { SignInRefusal } from "./refusal.ts";
import { appendRegistrationEvent } from "./registered-event.ts";
import type { SignInRequest } from "./request.ts";
import { withTokens } from "./return-url.ts";

/** How long a program or a device has to fetch its login. Login tokens and codes of devices expire after the same time. */
const COLLECTED_WITHIN_MS = 10 * 60_000;

export interface FinishOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly exchange: TokenExchange;
  readonly registrations: Registrations;
  readonly loginTokens: LoginTokens;
  readonly names: EventNames;
  readonly secrets: Secrets;
}

export type FinishedSignIn =
  /** Redirects the browser back to the program or to the console. `program` is the key of a program that the person has just confirmed. */
  | { readonly kind: "return"; readonly url: string; readonly program?: string }
  /** The page shows the token. */
  | { readonly kind: "token"; readonly token: string; readonly expiry: Date; readonly joined: boolean }
  /** The login was delivered to the program or device on another machine. */
  | { readonly kind: "elsewhere" };

/**
 * @throws SignInRefusal, HoltError. By then the account may be registered and the invite redeemed; nothing else has
 * changed
 */
export async function finish(
  request: SignInRequest,
  account: PersonAccount,
  client: LoginClient,
  options: FinishOptions,
): Promise<FinishedSignIn> {
  const { store, clock, exchange } = options;
  const now = clock.now();
  await register(request, account, now, options);
  const login = await loginFromAccount(account, store.reader);
  const { goal } = request;
  const origin: LoginOrigin = { ...client, kind: goal.kind, client: clientOf(goal) };
  if (goal.kind === "headless" || goal.kind === "device") {
    await deliverElsewhere(goal, login, { origin, now }, options);
    return { kind: "elsewhere" };
  }
  if (goal.kind === "console") {
    const code = await store.transaction((db) => insertCode(db, { goal, login: storedFromLogin(login) }, now, options.secrets));
    return { kind: "return", url: consoleReturnUrl(goal, code) };
  }
  const { audience: aud, scopes, identity, wantsRefreshToken } = request;
  const wanted = { aud, scopes, cap: [], identity, origin, wantsRefreshToken: wantsRefreshToken && goal.kind === "program" };
  const prepared = await exchange.prepareLogin(login, wanted, now, store.reader);
  const { token, refreshToken } = await store.transaction((db) => exchange.recordExchange(db, prepared));
  if (goal.kind === "program") return { kind: "return", url: withTokens(goal.returnUrl, token.token, refreshToken?.token) };
  return { kind: "token", ...token, joined: request.invite !== "" };
}

type Elsewhere = Extract<SignInRequest["goal"], { kind: "headless" | "device" }>;

/** Begins the session: the program or device collects its tokens later, from another address. */
async function deliverElsewhere(
  goal: Elsewhere,
  login: Login,
  { origin, now }: { readonly origin: LoginOrigin; readonly now: Date },
  { store, loginTokens }: FinishOptions,
): Promise<void> {
  const uid = newUid(login.identityUid);
  const stored = storedFromLogin({ ...login, loginSession: uid });
  const expiry = new Date(now.getTime() + COLLECTED_WITHIN_MS);
  const begin = (db: WriteDb) => insertLoginSession(db, { uid, family: uid, login, origin, expiry, now });
  if (goal.kind === "headless") {
    // The exchange by the program checks for deactivated and deleted identities.
    const session = encryptForProgram(goal.code, (await loginTokens.mint(stored, undefined, now)).token);
    await store.transaction(async (db) => {
      await begin(db);
      await insertHeadlessSession(db, goal.code, session, now);
    });
    return;
  }
  await store.transaction(async (db) => {
    await begin(db);
    if (!(await decideDevice(db, goal.deviceHash, stored, now)))
      throw new SignInRefusal(400, "The device no longer waits: its code has expired or was used. Start the sign-in on the device again.");
  });
}

function clientOf(goal: SignInRequest["goal"]): string {
  if (goal.kind === "program") return goal.client;
  return goal.kind === "device" ? goal.clientId : "";
}

/** One transaction, so that a person who cannot join is not registered either. */
function register(request: SignInRequest, account: PersonAccount, now: Date, options: FinishOptions): Promise<void> {
  const { store, registrations, names } = options;
  const { identityUid } = account;
  return store.transaction(async (db) => {
    if (request.skipRegistration) {
      const known = await db.selectFrom("identity").select("uid").where("uid", "=", identityUid).executeTakeFirst();
      if (known === undefined)
        throw new SignInRefusal(
          404,
          "The account that you signed in with is not registered here. Register first, or sign in with the account that you registered.",
        );
    }
    const { changed, groupUid } = await registrations.recordRegister(db, { identityUid, account, code: request.invite, now });
    if (changed) await appendRegistrationEvent(db, { account, groupUid, now }, names);
  });
}
