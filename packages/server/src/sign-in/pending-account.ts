/** Keeps the account of a person while a page waits for an answer. */

import type { ReadDb } from "../db/store.ts";
import { accountVersion } from "../iam/accounts/account-record.ts";
import { findIdentityProvider, type IdentityProviderRecord } from "../iam/identities/identity-provider-record.ts";
import type { Membership, PersonAccount } from "../iam/identities/person-account.ts";
import { SignInRefusal } from "./refusal.ts";

/** The account without the database record of its provider. */
export interface PendingAccount {
  readonly account: Omit<PersonAccount, "member">;
  readonly member: PendingMember | undefined;
}

/** A membership, with the version of the provider's settings that it was read under. */
interface PendingMember extends Pick<Membership, "externalId" | "groups">, Pick<IdentityProviderRecord, "version"> {
  /** Uid of the identity provider. */
  readonly provider: string;
}

const CHANGED_ACCOUNT = "Your account has changed since you signed in. Sign in again.";
const CHANGED_PROVIDER = "Your organization has changed its sign-in in the meantime. Start again from where you began.";

export function pendingAccount({ member, ...account }: PersonAccount): PendingAccount {
  return { account, member: member && pendingMember(member) };
}

function pendingMember({ provider: { uid: provider, version }, externalId, groups }: Membership): PendingMember {
  return { provider, version, externalId, groups };
}

/** @throws SignInRefusal if the account or its provider has changed meanwhile */
export async function restoreAccount(db: ReadDb, { account, member }: PendingAccount): Promise<PersonAccount> {
  const { identityUid, accountVersion: version } = account;
  if (version !== undefined && (await accountVersion(db, identityUid)) !== version) throw new SignInRefusal(400, CHANGED_ACCOUNT);
  if (member === undefined) return { ...account, member: undefined };
  const provider = await findIdentityProvider(db, member.provider);
  // The provider may have changed while the page was open, and other settings read other groups from a token.
  if (provider?.version !== member.version) throw new SignInRefusal(400, CHANGED_PROVIDER);
  return { ...account, member: { provider, externalId: member.externalId, groups: member.groups } };
}
