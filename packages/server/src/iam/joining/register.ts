/** Registration: an account with an issuer that people log in with becomes a user identity, and with an invite joins its group. */
import { appendToCount } from "../../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { invalidArgument, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import { rfc3339 } from "../../lib/rfc3339.ts";
import type { Grants } from "../grants/grants.ts";
import { encodeIdentity } from "../identities/identity-record.ts";
import type { PersonAccount } from "../identities/person-account.ts";
import { recordMembership } from "../identities/provider-membership.ts";
import { newUserIdentity } from "../identities/user-identity.ts";
import type { UserLogins } from "../identities/user-login.ts";
import { parseJwt } from "../tokens/jwt.ts";
import { type Redeemer, redeemInvite } from "./invites.ts";

export interface RegistrationRequest {
  readonly bearer: string | undefined;
  /** Of an invite; empty for none. */
  readonly code: string;
  /** Empty, or the uid the caller expects to get. */
  readonly identityId: string;
}

export interface PreparedRegistration {
  readonly identityUid: string;
  readonly account: PersonAccount;
  /** Of an invite; empty for none. */
  readonly code: string;
  readonly now: Date;
}

export interface Registered {
  /** Whether anything is new: the identity, or what it is bound to. Who registers again changes nothing. */
  readonly changed: boolean;
  /** The group that was joined by an invite, or the empty string. */
  readonly groupUid: string;
}

export interface Registrations {
  prepareRegister(request: RegistrationRequest, now: Date, db: ReadDb): Promise<PreparedRegistration>;
  /** @throws what `redeemInvite` throws of the code; nobody is registered then */
  recordRegister(db: WriteDb, prepared: PreparedRegistration): Promise<Registered>;
}

/** RelationshipType.CLAIM_MATCH */
const CLAIM_MATCH = 1;

export function createRegistrations({ users, grants }: { readonly users: UserLogins; readonly grants: Grants }): Registrations {
  return {
    async prepareRegister({ bearer, code, identityId }, now, db) {
      if (bearer === undefined || bearer === "") throw unauthenticated("registration needs a token of the issuer you log in with");
      const token = parseJwt(bearer);
      const account = await users.verify(token, "", now, db);
      if (account === undefined) {
        throw permissionDenied(
          `accounts of issuer ${JSON.stringify(token.issuer)} cannot register; the operator lists the issuers that may in HOLT_USER_ISSUERS`,
        );
      }
      const { identityUid } = account;
      if (identityId !== "" && identityId !== identityUid) throw invalidArgument("identity_id", "is not the identity of this account");
      return { identityUid, account, code, now };
    },

    async recordRegister(db, { account, code, now }) {
      const isNew = await insertIdentity(db, account, now, grants);
      await recordMembership(db, account, now, grants);
      if (code === "") return { changed: isNew, groupUid: "" };
      const joined = await redeemInvite(db, code, redeemerOf(account), now, grants);
      return { changed: isNew || joined.isNew, groupUid: joined.groupUid };
    },
  };
}

export function redeemerOf({ identityUid, email, emailWithin }: PersonAccount): Redeemer {
  return { identityUid, email, ...(emailWithin !== undefined && { emailWithin }) };
}

/** @returns whether it was not there before */
async function insertIdentity(db: WriteDb, account: PersonAccount, now: Date, grants: Grants): Promise<boolean> {
  const { identityUid, issuer, subject, profile } = account;
  // Shown, though nobody is known to have verified it.
  const said = profile.email === undefined ? { ...profile, email: profile.actor.email } : profile;
  const identity = newUserIdentity(issuer, subject, said, now);
  const time = rfc3339(now.getTime());
  const row = {
    uid: identityUid,
    parent: null,
    name: identity.name,
    create_time: time,
    update_time: time,
    relationship_type: CLAIM_MATCH,
    body: encodeIdentity(identity),
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("identity")
    .values(row)
    .onConflict((conflict) => conflict.column("uid").doNothing())
    .executeTakeFirstOrThrow();
  const isNew = numInsertedOrUpdatedRows === 1n;
  // Tokens of an identity are refused while it does not exist, and that is remembered.
  if (isNew) {
    await appendToCount(db, "identity", identityUid, 1);
    await grants.changed(db, [identityUid]);
  }
  return isNew;
}
