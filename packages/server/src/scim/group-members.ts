/** Changes the members of groups row by row. Concurrent changes of other members are kept, however large the group. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../db/store.ts";
import type { Grants } from "../iam/grants/grants.ts";
import type { Filter } from "./filter.ts";
import { matchesFilter } from "./match.ts";
import { groupAsMember, type MemberStep } from "./member-steps.ts";
import { badRequest } from "./scim-error.ts";

/** Above this number the whole cache of rights is dropped, instead of single identities. */
const MAX_NOTIFIED_IDENTITIES = 1_000;

/**
 * The group's row must be locked.
 * @returns ids of the users that were added or removed
 * @throws ScimError invalidValue for an id that the directory does not know
 */
export async function applyMemberSteps(db: WriteDb, idpUid: string, groupId: string, steps: readonly MemberStep[]): Promise<Set<string>> {
  const changed = new Set<string>();
  for (const step of steps) for (const id of await applyStep(db, idpUid, groupId, step)) changed.add(id);
  return changed;
}

async function applyStep(db: WriteDb, idpUid: string, groupId: string, step: MemberStep): Promise<string[]> {
  switch (step.kind) {
    case "add":
      return addMembers(db, idpUid, groupId, step.ids);
    case "remove":
      return removeMembers(db, groupId, step.ids);
    case "set":
      return [...(await removeOtherMembers(db, groupId, step.ids)), ...(await addMembers(db, idpUid, groupId, step.ids))];
    case "remove-matching":
      return removeMembers(db, groupId, await findMatchingMembers(db, groupId, step.filter));
  }
}

async function addMembers(db: WriteDb, idpUid: string, groupId: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  await assertUsers(db, idpUid, ids);
  const added = await db
    .insertInto("scim_group_member")
    .columns(["group_id", "user_id"])
    .expression(
      db
        .selectFrom("scim_user")
        .select([sql<string>`${groupId}`.as("group_id"), "id"])
        .where("id", "in", valuesQuery(db, ids))
        .where("idp_uid", "=", idpUid),
    )
    .onConflict((conflict) => conflict.columns(["group_id", "user_id"]).doNothing())
    .returning("user_id")
    .execute();
  return added.map(({ user_id }) => user_id);
}

/** Locks the users against deletion. */
async function assertUsers(db: WriteDb, idpUid: string, ids: readonly string[]): Promise<void> {
  const query = db
    .selectFrom("scim_user")
    .select("id")
    .where("id", "in", valuesQuery(db, ids))
    .where("idp_uid", "=", idpUid)
    .where("delete_time", "is", null);
  const known = new Set((await db.dialect.forKeyShare(query).execute()).map(({ id }) => id));
  const missing = ids.find((id) => !known.has(id));
  if (missing === undefined) return;
  const group = await db.selectFrom("scim_group").select("id").where("id", "=", missing).where("idp_uid", "=", idpUid).executeTakeFirst();
  throw group === undefined ? badRequest("invalidValue", `no user has the id ${JSON.stringify(missing.slice(0, 100))}`) : groupAsMember();
}

async function removeMembers(db: WriteDb, groupId: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const removed = await db
    .deleteFrom("scim_group_member")
    .where("group_id", "=", groupId)
    .where("user_id", "in", valuesQuery(db, ids))
    .returning("user_id")
    .execute();
  return removed.map(({ user_id }) => user_id);
}

async function removeOtherMembers(db: WriteDb, groupId: string, ids: readonly string[]): Promise<string[]> {
  const removed = await db
    .deleteFrom("scim_group_member")
    .where("group_id", "=", groupId)
    .where("user_id", "not in", valuesQuery(db, ids))
    .returning("user_id")
    .execute();
  return removed.map(({ user_id }) => user_id);
}

async function findMatchingMembers(db: ReadDb, groupId: string, filter: Filter): Promise<string[]> {
  const rows = await db.selectFrom("scim_group_member").select("user_id").where("group_id", "=", groupId).execute();
  return rows.map(({ user_id }) => user_id).filter((id) => matchesFilter(filter, { value: id, type: "User" }));
}

/** Records that the rights of the users may have changed. */
export async function recordMemberChange(db: WriteDb, grants: Grants, userIds: ReadonlySet<string>): Promise<void> {
  if (userIds.size === 0) return;
  if (userIds.size > MAX_NOTIFIED_IDENTITIES) {
    await grants.recordChange(db, "*");
    return;
  }
  const rows = await db
    .selectFrom("scim_user")
    .innerJoin("scim_identity", (join) =>
      join.onRef("scim_identity.idp_uid", "=", "scim_user.idp_uid").onRef("scim_identity.external_id", "=", "scim_user.external_id"),
    )
    .select("scim_identity.identity_uid")
    .distinct()
    .where("scim_user.id", "in", valuesQuery(db, [...userIds]))
    .execute();
  await grants.recordChange(
    db,
    rows.map(({ identity_uid }) => identity_uid),
  );
}

function valuesQuery(db: ReadDb, ids: readonly string[]) {
  return db.selectFrom(db.dialect.valuesOf(ids).as("v")).select("v.value");
}
