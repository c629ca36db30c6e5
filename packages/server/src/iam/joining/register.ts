/**
 * Registers people: turns an account at an issuer into a user identity and, with an invite code, joins the invite's
 * group.
 */
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
  /** Invite code; empty for none. */
  readonly code: string;
  /** The identity uid that the caller expects; empty for any. */
  readonly identityId: string;
}

export interface PreparedRegistration {
  readonly identityUid: string;
  readonly account: PersonAccount;
  /** Invite code; empty for none. */
  readonly code: string;
  readonly now: Date;
}

export interface RegistrationResult {
  /** Whether the identity is new, got a role, or used an invite up. Registering again changes nothing. */
  readonly changed: boolean;
  /** Uid of the group joined by the invite, or the empty string. */
  readonly groupUid: string;
}

export interface Registrations {
  prepareRegister(request: RegistrationRequest, now: Date, db: ReadDb): Promise<PreparedRegistration>;
  /** @throws the errors of `redeemInvite`; the transaction must then be rolled back, so that nobody is registered */
  recordRegister(db: WriteDb, prepared: PreparedRegistration): Promise<RegistrationResult>;
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
          `accounts of issuer ${JSON.stringify(token.issuer)} cannot register; HOLT_USER_ISSUERS lists the issuers that may`,
        );
      }
      const { identityUid } = account;
      if (identityId !== "" && identityId !== identityUid)
        throw invalidArgument("identity_id", "is not the uid of this account's identity");
      return { identityUid, account, code, now };
    },

    async recordRegister(db, { account, code, now }) {
      const isNew = await insertIdentity(db, account, now, grants);
      const hasDefaultRole = await recordMembership(db, account, now, grants);
      const changed = isNew || hasDefaultRole;
      if (code === "") return { changed, groupUid: "" };
      const redeemed = await redeemInvite(db, { code, redeemer: redeemerFromAccount(account), now }, grants);
      return { changed: changed || redeemed.changed, groupUid: redeemed.groupUid };
    },
  };
}

export function redeemerFromAccount({ identityUid, email, emailWithin, mayJoin, auth, member }: PersonAccount): Redeemer {
  const session = member && { provider: member.provider.uid, mappings: [], directoryMappings: [] };
  return { identityUid, email, mayJoin, signedIn: { auth, session }, ...(emailWithin !== undefined && { emailWithin }) };
}

/** @returns whether the identity is new */
export async function insertIdentity(
  db: WriteDb,
  account: Pick<PersonAccount, "identityUid" | "issuer" | "subject" | "profile">,
  now: Date,
  grants: Grants,
): Promise<boolean> {
  const { identityUid, issuer, subject, profile } = account;
  // The email address from an organization's provider counts nowhere else: it is kept with the membership.
  const identity = newUserIdentity(issuer, subject, profile, now);
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
  // The absence of the identity may be cached.
  if (isNew) {
    await appendToCount(db, "identity", identityUid, 1);
    await grants.recordChange(db, [identityUid]);
  }
  return isNew;
}
