/** Registration: an account with an issuer that people log in with becomes a user identity. Invites, which also give rights, are not accepted yet. */
import { appendToCount } from "../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../db/store.ts";
import { invalidArgument, permissionDenied, unauthenticated, unimplemented } from "../lib/errors.ts";
import { rfc3339 } from "../lib/rfc3339.ts";
import type { Grants } from "./grants.ts";
import { encodeIdentity } from "./identity-record.ts";
import { parseJwt } from "./jwt.ts";
import type { Profile } from "./subject.ts";
import { newUserIdentity, userIdentityUid } from "./user-identity.ts";
import type { UserLogins } from "./user-login.ts";

export interface RegistrationRequest {
  readonly bearer: string | undefined;
  /** Of an invite; empty for none. */
  readonly code: string;
  /** Empty, or the uid the caller expects to get. */
  readonly identityId: string;
}

export interface PreparedRegistration {
  readonly identityUid: string;
  readonly issuer: string;
  readonly subject: string;
  readonly profile: Profile;
  readonly now: Date;
}

export interface Registrations {
  prepareRegister(request: RegistrationRequest, now: Date, db: ReadDb): Promise<PreparedRegistration>;
  /** @returns whether the identity is new; who registers again changes nothing */
  recordRegister(db: WriteDb, prepared: PreparedRegistration): Promise<boolean>;
}

/** RelationshipType.CLAIM_MATCH */
const CLAIM_MATCH = 1;

export function createRegistrations({ users, grants }: { readonly users: UserLogins; readonly grants: Grants }): Registrations {
  return {
    async prepareRegister({ bearer, code, identityId }, now) {
      if (bearer === undefined || bearer === "") throw unauthenticated("registration needs a token of the issuer you log in with");
      if (code !== "") throw unimplemented("Registration with an invite code");
      const token = parseJwt(bearer);
      if (!users.trusts(token.issuer)) {
        throw permissionDenied(
          `accounts of issuer ${JSON.stringify(token.issuer)} cannot register; the operator lists the issuers that may in HOLT_USER_ISSUERS`,
        );
      }
      const { subject, profile } = await users.verify(token, now);
      const identityUid = userIdentityUid(token.issuer, subject);
      if (identityId !== "" && identityId !== identityUid) throw invalidArgument("identity_id", "is not the identity of this account");
      return { identityUid, issuer: token.issuer, subject, profile, now };
    },

    async recordRegister(db, { identityUid, issuer, subject, profile, now }) {
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
      // Tokens of an identity are refused while it does not exist, and that is remembered.
      if (isNew) {
        await appendToCount(db, "identity", identityUid, 1);
        await grants.changed(db, [identityUid]);
      }
      return isNew;
    },
  };
}
