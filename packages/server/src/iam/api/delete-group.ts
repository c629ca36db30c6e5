/** Deletes a group. The deletion is refused while anything lives in the group; what only served the group goes with it. */
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { sql } from "kysely";
import type { WriteCall } from "../../api/call/call.ts";
import type { Domain, GroupChild } from "../../api/domain.ts";
import { removeIfThere } from "../../api/resource/write.ts";
import { appendToCount, dropCounts } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { ConstraintError } from "../../db/transaction.ts";
import { failedPrecondition, notFound } from "../../lib/errors.ts";
import { deleteBindings } from "../grants/bindings.ts";
import type { Grants } from "../grants/grants.ts";
import { deleteInvites } from "../joining/invites.ts";
import { forgetPublicContent } from "../public-content/public-content-resource.ts";
import { accountAssociations } from "./account-associations.ts";

export interface GroupDeletionParts {
  readonly grants: Grants;
  readonly domains: readonly Domain[];
}

/** @throws NOT_FOUND; FAILED_PRECONDITION (RESOURCE_NOT_EMPTY) that names what lives in the group */
export async function deleteGroup(uid: string, { db }: WriteCall, { grants, domains }: GroupDeletionParts): Promise<void> {
  const locked = await db.dialect.forDelete(db.selectFrom("group").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (locked === undefined) throw notFound("Group", uid);
  for (const child of childrenOf(domains)) if (await hasChild(child, uid, db)) throw notEmpty(child.what);
  const affected = await deleteBindings(db, "parent", uid);
  await deleteInvites(db, sql<boolean>`parent = ${uid}`);
  await removeIfThere(accountAssociations, uid, db);
  await forgetPublicContent(uid, db, grants);
  const belongings = domains.flatMap((domain) => domain.onGroupDelete?.alsoDeletes ?? []);
  for (const { table, column } of belongings) await sql`delete from ${sql.table(table)} where ${sql.ref(column)} = ${uid}`.execute(db);
  const deleted = await db
    .deleteFrom("group")
    .where("uid", "=", uid)
    .returning("body")
    .executeTakeFirstOrThrow()
    .catch((thrown) => {
      throw thrown instanceof ConstraintError ? notEmpty() : thrown;
    });
  db.audit.changes.push({ kind: "Group", uid, schema: GroupSchema, before: deleted.body });
  await appendToCount(db, "group", uid, -1);
  await dropCounts(db, uid);
  if (affected.length > 0) await grants.recordChange(db, affected);
}

/** The refusal names the first that is found: children with a name of their own come first, those of other domains before those of iam. */
function childrenOf(domains: readonly Domain[]): readonly GroupChild[] {
  const others = domains.filter(({ name }) => name !== "iam");
  const iam = domains.filter(({ name }) => name === "iam");
  const children = [...others, ...iam].flatMap((domain) => domain.onGroupDelete?.blockedBy ?? []);
  return [...children.filter(({ what }) => what !== undefined), ...children.filter(({ what }) => what === undefined)];
}

async function hasChild({ table, where = sql<boolean>`1 = 1` }: GroupChild, uid: string, db: ReadDb): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} where parent = ${uid} and ${where} limit 1`.execute(db);
  return rows.length > 0;
}

function notEmpty(what = "child resources"): Error {
  return failedPrecondition("RESOURCE_NOT_EMPTY", `cannot delete group with ${what}`);
}
