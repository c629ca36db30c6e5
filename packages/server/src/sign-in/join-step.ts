/** Offers memberships on the page after a sign-in, and joins the organization that the person chooses there. */
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { acceptOffer, findOffers, type MembershipOffer } from "./membership-offers.ts";
import { type PendingAccount, pendingAccount, restoreAccount } from "./pending-account.ts";
import { SignInRefusal } from "./refusal.ts";
import type { SignInParts } from "./sign-in-parts.ts";
import type { OfferedMemberships, SignInResult } from "./sign-in-result.ts";

/** The stored step of a page that offers memberships. */
interface PendingOffer extends PendingAccount {
  readonly organizations: readonly MembershipOffer[];
}

const LOST_OFFER = "This page is too old, or was answered already. Open /oauth and sign in again: then it offers what is left to join.";

export async function offerMemberships(
  account: PersonAccount,
  browser: string,
  { store, pending }: SignInParts,
): Promise<OfferedMemberships | undefined> {
  const organizations = await findOffers(store.reader, account);
  if (organizations.length === 0) return undefined;
  const content: PendingOffer = { ...pendingAccount(account), organizations };
  return { handle: await pending.store({ browser, stage: "offer", content }), organizations };
}

/** @throws SignInRefusal, HoltError */
export async function joinOffered(
  handle: string,
  organization: string,
  browser: string | undefined,
  parts: SignInParts,
): Promise<SignInResult> {
  const { store, clock, log, pending } = parts;
  const step = await pending.take<PendingOffer>("offer", handle, browser);
  const offered = step?.organizations.find(({ uid }) => uid === organization);
  if (step === undefined || offered === undefined || browser === undefined) throw new SignInRefusal(400, LOST_OFFER);
  const account = await restoreAccount(store.reader, step);
  if (!(await acceptOffer(account, organization, clock.now(), parts))) throw new SignInRefusal(400, LOST_OFFER);
  log.info({ identity: account.identityUid, organization }, "a person joined an organization");
  return { kind: "joined", name: offered.name, offers: await offerMemberships(account, browser, parts) };
}
