/** Deletes a group: refused while anything lives in it. With it go its bindings, its invites, and what was agreed for it, and what was left of deleted advisories. */
import { sql } from "kysely";
import { dropAdvisoryCounts } from "../../advisories/storage/count.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { removeIfThere } from "../../api/resource/write.ts";
import { appendToCount, appendToCounts, dropCounts } from "../../db/resource-count.ts";
import type { ResourceTableName } from "../../db/schema.ts";
import type { WriteDb } from "../../db/store.ts";
import { ConstraintError } from "../../db/transaction.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { failedPrecondition, notFound } from "../../lib/errors.ts";
import { deleteBindings } from "../grants/bindings.ts";
import { accountAssociations } from "./account-associations.ts";

/** In the order in which they are looked for; the first that is found is what the refusal names. */
const blocking: readonly { readonly tables: readonly ResourceTableName[]; readonly what: string }[] = [
  { tables: ["repo"], what: "child repos" },
  { tables: ["group"], what: "child groups" },
  {
    tables: ["identity", "role", "identity_provider", "subscription", "library_artifact", "advisory", "advisory_mirror"],
    what: "child resources",
  },
];

export async function deleteGroup(uid: string, call: WriteCall, { grants }: ServiceDependencies): Promise<void> {
  const { db } = call;
  const locked = await db.dialect.forDelete(db.selectFrom("group").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (locked === undefined) throw notFound("Group", uid);
  for (const { tables, what } of blocking) for (const table of tables) if (await hasChild(table, uid, db)) throw notEmpty(what);
  const affected = await deleteBindings(db, "parent", uid);
  await deleteBelongings(uid, db);
  await db
    .deleteFrom("group")
    .where("uid", "=", uid)
    .execute()
    .catch((thrown) => {
      throw thrown instanceof ConstraintError ? notEmpty("child resources") : thrown;
    });
  await appendToCount(db, "group", uid, -1);
  await dropCounts(db, uid);
  await dropAdvisoryCounts(db, uid);
  if (affected.length > 0) await grants.changed(db, affected);
}

/** What a group has that is of no use to anybody without it. */
async function deleteBelongings(uid: string, db: WriteDb): Promise<void> {
  const invites = await db.deleteFrom("group_invite").where("parent", "=", uid).returning("uid").execute();
  await appendToCounts(
    db,
    "group_invite",
    invites.map((invite) => invite.uid),
    -1,
  );
  await removeIfThere(accountAssociations, uid, db);
  // Deleted ones: others would have kept the group.
  await db.deleteFrom("advisory").where("parent", "=", uid).execute();
  await db.deleteFrom("terms_acceptance").where("org_uid", "=", uid).execute();
  await db.deleteFrom("package_origin").where("org_uid", "=", uid).execute();
  await db.deleteFrom("image_wait").where("org_uid", "=", uid).execute();
  await db.deleteFrom("image_turn").where("org_uid", "=", uid).execute();
  await db.deleteFrom("access_request").where("group_uid", "=", uid).execute();
}

async function hasChild(table: ResourceTableName, uid: string, db: WriteDb): Promise<boolean> {
  const children = db.selectFrom(table).select("uid").where("parent", "=", uid).limit(1);
  const live = table === "advisory" ? children.where(sql<boolean>`delete_time is null`) : children;
  return (await live.executeTakeFirst()) !== undefined;
}

function notEmpty(what: string): Error {
  return failedPrecondition("RESOURCE_NOT_EMPTY", `cannot delete group with ${what}`);
}
