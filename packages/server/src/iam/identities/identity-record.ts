/** The stored identity as token exchange needs it: read, and noted as seen. All other changes to identities belong to their service. */
import { type Identity, IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { isUid } from "../../lib/uid.ts";

/** What a login tells of an identity. */
export interface Seen {
  readonly at: Date;
  /** Undefined leaves what is known as it is. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
}

export const encodeIdentity = compileJsonEncoder(IdentitySchema);

export async function findIdentity(db: ReadDb, uid: string): Promise<Identity | undefined> {
  if (!isUid(uid)) return undefined;
  const row = await db.selectFrom("identity").select("body").where("uid", "=", uid).executeTakeFirst();
  return row === undefined ? undefined : messageFromJson(IdentitySchema, row.body);
}

/**
 * Not an update by anybody: `update_time` stays, and no event tells of it. Holds the identity's row until the transaction ends.
 * @returns whether the identity still exists
 */
export async function recordSeen(db: WriteDb, uid: string, { at, email, emailVerified }: Seen): Promise<boolean> {
  const row = await db.dialect.forUpdate(db.selectFrom("identity").select("body").where("uid", "=", uid)).executeTakeFirst();
  if (row === undefined) return false;
  const identity = messageFromJson(IdentitySchema, row.body);
  identity.lastSeenTime = timestampFromDate(at);
  if (email !== undefined) {
    identity.email = emailVerified ? email : "";
    identity.emailUnverified = emailVerified ? "" : email;
  }
  await db
    .updateTable("identity")
    .set({ body: encodeIdentity(identity) })
    .where("uid", "=", uid)
    .execute();
  return true;
}
