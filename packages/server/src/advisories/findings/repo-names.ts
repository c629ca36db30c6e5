/** The names by which statements and events name a repo. */
import type { ReadDb } from "../../db/store.ts";
import { ancestry, parentOf } from "../../lib/uid.ts";

/** `app`, `folder/app` and `organization/folder/app`; empty for a repo that does not exist. */
export async function namesOfRepo(db: ReadDb, repoUid: string): Promise<readonly string[]> {
  const repo = await db.selectFrom("repo").select("name").where("uid", "=", repoUid).executeTakeFirst();
  if (repo === undefined) return [];
  const path = ancestry(parentOf(repoUid));
  const rows = await db.selectFrom("group").select(["uid", "name"]).where("uid", "in", path).execute();
  const groups = new Map(rows.map(({ uid, name }) => [uid, name]));
  const names = [repo.name];
  for (const group of path) names.push(`${groups.get(group) ?? ""}/${names.at(-1)}`);
  return names;
}
