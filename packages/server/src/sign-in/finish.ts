/** Finishes a sign-in: registers the account, redeems the invite, and delivers the login to its recipient. */

import type { Store } from "../db/store.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { loginFromAccount } from "../iam/identities/user-login.ts";
import type { Registrations } from "../iam/joining/register.ts";
import type { TokenExchange } from "../iam/tokens/exchange-token.ts";
import { type LoginTokens, storedFromLogin } from "../iam/tokens/login-token.ts";
import type { Clock } from "../lib/clock.ts";
import type { EventNames } from "../outbox/outbox.ts";
import { decideDevice } from "./device.ts";
import { encryptForProgram, insertHeadlessSession } from "./headless.ts";
import { SignInRefusal } from "./refusal.ts";
import { appendRegistrationEvent } from "./registered-event.ts";
import type { SignInRequest } from "./request.ts";
import { withTokens } from "./return-url.ts";

export interface FinishOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly exchange: TokenExchange;
  readonly registrations: Registrations;
  readonly loginTokens: LoginTokens;
  readonly names: EventNames;
}

export type FinishedSignIn =
  /** Redirects the browser back to the program. `program` is the key of a program that the person has just confirmed. */
  | { readonly kind: "return"; readonly url: string; readonly program?: string }
  /** The page shows the token. */
  | { readonly kind: "token"; readonly token: string; readonly expiry: Date; readonly joined: boolean }
  /** The login was delivered to the program or device on another machine. */
  | { readonly kind: "elsewhere" };

/**
 * @throws SignInRefusal, HoltError. By then the account may be registered and the invite redeemed; nothing else has
 * changed
 */
export async function finish(request: SignInRequest, account: PersonAccount, options: FinishOptions): Promise<FinishedSignIn> {
  const { store, clock, exchange, loginTokens } = options;
  const now = clock.now();
  await register(request, account, now, options);
  const login = await loginFromAccount(account, store.reader);
  const { goal } = request;
  if (goal.kind === "headless") {
    // The exchange by the program checks for deactivated and deleted identities.
    const session = encryptForProgram(goal.code, (await loginTokens.mint(storedFromLogin(login), undefined, now)).token);
    await store.transaction((db) => insertHeadlessSession(db, goal.code, session, now));
    return { kind: "elsewhere" };
  }
  if (goal.kind === "device") {
    const isWaiting = await store.transaction((db) => decideDevice(db, goal.deviceHash, storedFromLogin(login), now));
    if (!isWaiting)
      throw new SignInRefusal(400, "The device no longer waits: its code has expired or was used. Start the sign-in on the device again.");
    return { kind: "elsewhere" };
  }
  const { audience: aud, scopes, identity, wantsRefreshToken } = request;
  const wanted = { aud, scopes, cap: [], identity, wantsRefreshToken: wantsRefreshToken && goal.kind === "program" };
  const prepared = await exchange.prepareLogin(login, wanted, now, store.reader);
  const { token, refreshToken } = await store.transaction((db) => exchange.recordExchange(db, prepared));
  if (goal.kind === "program") return { kind: "return", url: withTokens(goal.returnUrl, token.token, refreshToken?.token) };
  return { kind: "token", ...token, joined: request.invite !== "" };
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
