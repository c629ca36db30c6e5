/** Reads stored identities and updates their last-seen time. All other changes are made by the service in api/. */
import { type Identity, IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { sql } from "kysely";
import { ROW } from "../../db/lookup.ts";
import { prepare } from "../../db/prepared.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import { isUid } from "../../lib/uid.ts";

/** What a login reports about an identity. */
export interface LastSeen {
  readonly at: Date;
  /** Undefined keeps the stored email. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
}

export const encodeIdentity = compileJsonEncoder(IdentitySchema);

const storedBody = prepare<{ uid: string }, { body: string }>(
  (db, param) => db.selectFrom("identity").select("body").where("uid", "=", param("uid")).compile(),
  { weight: ROW },
);

const lockedBody = prepare<{ uid: string }, { body: string }>((db, param) =>
  db.dialect.forUpdate(db.selectFrom("identity").select("body").where("uid", "=", param("uid"))).compile(),
);

const newBody = prepare<{ uid: string; body: string }, never>((db, param) =>
  sql<never>`update identity set body = ${param("body")} where uid = ${param("uid")}`.compile(db),
);

export async function findIdentity(db: ReadDb, uid: string): Promise<Identity | undefined> {
  if (!isUid(uid)) return undefined;
  const row = await storedBody.first(db, { uid });
  return row === undefined ? undefined : messageFromJson(IdentitySchema, row.body);
}

/**
 * Locks the identity's row until the transaction ends. What ends sessions of the identity takes the same lock.
 * @returns false if the identity does not exist
 */
export async function lockIdentity(db: WriteDb, uid: string): Promise<boolean> {
  const row = await db.dialect.forUpdate(db.selectFrom("identity").select("uid").where("uid", "=", uid)).executeTakeFirst();
  return row !== undefined;
}

/** Locks the identity against deletion, so that what is stored for it is deleted with it. @throws NOT_FOUND */
export async function keepIdentity(db: WriteDb, uid: string): Promise<void> {
  const kept = db.dialect.forKeyShare(db.selectFrom("identity").select("uid").where("uid", "=", uid));
  if ((await kept.executeTakeFirst()) === undefined) throw notFound("Identity", uid);
}

/**
 * Does not count as an update: `update_time` stays and no event is emitted. Locks the identity's row until the
 * transaction ends.
 * @returns whether the identity still exists
 */
export async function recordLastSeen(db: WriteDb, uid: string, { at, email, emailVerified }: LastSeen): Promise<boolean> {
  const row = await lockedBody.first(db, { uid });
  if (row === undefined) return false;
  const identity = messageFromJson(IdentitySchema, row.body);
  identity.lastSeenTime = timestampFromDate(at);
  if (email !== undefined) {
    identity.email = emailVerified ? email : "";
    identity.emailUnverified = emailVerified ? "" : email;
  }
  await db.append(newBody.bind(db, { uid, body: encodeIdentity(identity) }));
  return true;
}
