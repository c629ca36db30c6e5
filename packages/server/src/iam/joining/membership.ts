/**
 * Records and reads which organizations people have joined or left. A person joins one by creating it, by redeeming an
 * invite, by signing in through its identity provider, or by accepting. Until then, the person's bindings there are
 * pending.
 */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";
import { keepIdentity } from "../identities/identity-record.ts";
import type { MembershipTable } from "../tables.ts";

/** Organizations that are read at most; a person joins far fewer. */
const MAX_ORGANIZATIONS = 1000;

export interface Joining {
  readonly identityUid: string;
  /** Uid of a group in the organization. */
  readonly groupUid: string;
  readonly now: Date;
  /** Address from the organization's own identity provider. Left out, the stored one stays. */
  readonly email?: string;
}

/** @returns whether the person had not joined; the person's rights have then changed */
export async function join(db: WriteDb, { identityUid, groupUid, now, email }: Joining): Promise<boolean> {
  const orgUid = rootOf(groupUid);
  const find = db.selectFrom("membership").select(["state", "email"]).where("identity_uid", "=", identityUid).where("org_uid", "=", orgUid);
  const current = await find.executeTakeFirst();
  if (current?.state === "joined" && (email === undefined || email === current.email)) return false;
  await save(db, { identity_uid: identityUid, org_uid: orgUid }, now, { state: "joined", ...(email !== undefined && { email }) });
  return current?.state !== "joined";
}

/**
 * Keeps what the organization's provider says about a person whose sign-in does not show that the person wants to join.
 * The person's bindings stay pending.
 */
export async function recordSignIn(db: WriteDb, { identityUid, groupUid, now, email = "" }: Joining): Promise<void> {
  const time = now.toISOString();
  await keepIdentity(db, identityUid);
  await db
    .insertInto("membership")
    .values({ identity_uid: identityUid, org_uid: rootOf(groupUid), state: "signed_in", email, create_time: time, update_time: time })
    .onConflict((conflict) =>
      conflict
        .columns(["identity_uid", "org_uid"])
        .doUpdateSet({ email })
        .where("membership.state", "<>", "left")
        .where("membership.email", "<>", email),
    )
    .execute();
}

/** Ends the membership, or declines the pending bindings. Later bindings have no effect until the person joins again. */
export async function leave(db: WriteDb, identityUid: string, orgUid: string, now: Date): Promise<void> {
  await save(db, { identity_uid: identityUid, org_uid: orgUid }, now, { state: "left", email: "" });
}

/** Uids of the organizations that a person has joined. */
export async function joinedOrganizations(db: ReadDb, identityUid: string): Promise<string[]> {
  const rows = await db
    .selectFrom("membership")
    .select("org_uid")
    .where("identity_uid", "=", identityUid)
    .where("state", "=", "joined")
    .orderBy("org_uid")
    .limit(MAX_ORGANIZATIONS)
    .execute();
  return rows.map(({ org_uid }) => org_uid);
}

type MembershipKey = Pick<MembershipTable, "identity_uid" | "org_uid">;

async function save(db: WriteDb, key: MembershipKey, now: Date, fields: { state: "joined" | "left"; email?: string }): Promise<void> {
  await keepIdentity(db, key.identity_uid);
  const time = now.toISOString();
  const change = { ...fields, update_time: time };
  await db
    .insertInto("membership")
    .values({ ...key, create_time: time, ...change })
    .onConflict((conflict) => conflict.columns(["identity_uid", "org_uid"]).doUpdateSet(change))
    .execute();
}
