/** Finds an organization that an operator names. */
import type { ReadDb } from "../db/store.ts";

/** @throws Error for the operator */
export async function findOrganization(uidOrName: string, db: ReadDb): Promise<{ readonly uid: string; readonly name: string }> {
  const organizations = await db.selectFrom("group").select(["uid", "name"]).where("parent", "is", null).execute();
  const found = organizations.filter(({ uid, name }) => uid === uidOrName || name === uidOrName);
  const [only] = found;
  if (only === undefined) throw new Error(`there is no organization "${uidOrName}"`);
  if (found.length > 1) throw new Error(`there are ${found.length} organizations "${uidOrName}"; give the uid of one`);
  return only;
}
