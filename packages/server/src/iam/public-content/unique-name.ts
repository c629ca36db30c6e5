/**
 * Keeps the names of organizations with public content apart. Anonymous callers belong to no organization, so nothing
 * else tells them which organization a name means.
 */
import { lockState } from "../../db/server-state.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { isBelowColumn } from "../../db/uid-range.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import { rangeAtOrBelow } from "../../lib/uid.ts";

/** @param name of the organization, which may be about to change */
export interface PublicOrganization {
  readonly uid: string;
  readonly name: string;
  /** A verified organization owns its name. */
  readonly verified: boolean;
}

/** Name of the state that a transaction locks before it takes a name. */
const TAKING_NAME = "public_content_name";

/**
 * Organizations take names one after another, because no index can enforce this rule.
 * @throws FAILED_PRECONDITION if another organization of the same name has public content
 */
export async function assertPublicNameFree(db: WriteDb, { uid, name, verified }: PublicOrganization): Promise<void> {
  if (verified) return;
  await lockState(db, TAKING_NAME, {});
  const other = await db
    .selectFrom("group")
    .select("group.uid")
    .where("group.name", "=", name)
    .where("group.parent", "is", null)
    .where("group.uid", "<>", uid)
    .where(({ exists, selectFrom, or, ref }) =>
      exists(
        selectFrom("public_content")
          .select("public_content.uid")
          .where((eb) => or([eb("public_content.uid", "=", ref("group.uid")), isBelowColumn("public_content.uid", "group.uid")])),
      ),
    )
    .executeTakeFirst();
  if (other === undefined) return;
  throw failedPrecondition(
    "PUBLIC_NAME_TAKEN",
    `another organization named "${name}" has public content, and anonymous callers could not tell the two apart: ` +
      "choose another name, or ask the operator to verify your organization",
  );
}

/** Whether content of the organization is public. */
export async function hasPublicContent(db: ReadDb, organization: string): Promise<boolean> {
  const { lower, upper } = rangeAtOrBelow(organization);
  const query = db.selectFrom("public_content").select("uid").where("uid", ">=", lower).where("uid", "<", upper).limit(1);
  return (await query.executeTakeFirst()) !== undefined;
}
