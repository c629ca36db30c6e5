/** Deletes a group: refused while anything lives in it, and with it go its bindings. */
import type { WriteCall } from "../../call/call.ts";
import { appendToCount, appendToCounts, dropCounts } from "../../db/resource-count.ts";
import type { ResourceTableName } from "../../db/schema.ts";
import type { WriteDb } from "../../db/store.ts";
import { ConstraintError } from "../../db/transaction.ts";
import { failedPrecondition, notFound } from "../../lib/errors.ts";
import type { ServiceDependencies } from "../dependencies.ts";

/** In the order in which they are looked for; the first that is found is what the refusal names. */
const blocking: readonly { readonly tables: readonly ResourceTableName[]; readonly what: string }[] = [
  { tables: ["repo"], what: "child repos" },
  { tables: ["group"], what: "child groups" },
  { tables: ["identity", "role", "identity_provider"], what: "child resources" },
];

export async function deleteGroup(uid: string, call: WriteCall, { grants }: ServiceDependencies): Promise<void> {
  const { db } = call;
  const locked = await db.dialect.forDelete(db.selectFrom("group").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (locked === undefined) throw notFound("Group", uid);
  for (const { tables, what } of blocking) for (const table of tables) if (await hasChild(table, uid, db)) throw notEmpty(what);
  const bound = await db.deleteFrom("role_binding").where("parent", "=", uid).returning(["uid", "identity_uid"]).execute();
  await appendToCounts(
    db,
    "role_binding",
    bound.map((binding) => binding.uid),
    -1,
  );
  await db
    .deleteFrom("group")
    .where("uid", "=", uid)
    .execute()
    .catch((thrown) => {
      throw thrown instanceof ConstraintError ? notEmpty("child resources") : thrown;
    });
  await appendToCount(db, "group", uid, -1);
  await dropCounts(db, uid);
  if (bound.length > 0)
    await grants.changed(
      db,
      bound.map((binding) => binding.identity_uid),
    );
}

async function hasChild(table: ResourceTableName, uid: string, db: WriteDb): Promise<boolean> {
  return (await db.selectFrom(table).select("uid").where("parent", "=", uid).limit(1).executeTakeFirst()) !== undefined;
}

function notEmpty(what: string): Error {
  return failedPrecondition("RESOURCE_NOT_EMPTY", `cannot delete group with ${what}`);
}
