/** Reads the settings of the registry that apply to a group or a repo. */
import type { ReadDb } from "../db/store.ts";
import { ancestry } from "../lib/uid.ts";

export interface RegistrySettings {
  /** Whether synced repos get only tags that never move. */
  readonly uniqueTags: boolean;
  /** Whether a tag has a grace period although neither it nor its repo sets one. */
  readonly eolGracePeriod: boolean;
}

/** Those of the nearest group at or above `uid` that has any. */
export async function registrySettingsOf(uid: string, db: ReadDb): Promise<RegistrySettings> {
  const row = await db
    .selectFrom("registry_settings")
    .select(["unique_tags", "eol_grace_period"])
    .where("group_uid", "in", ancestry(uid))
    .orderBy((eb) => eb.fn("length", ["group_uid"]), "desc")
    .executeTakeFirst();
  return { uniqueTags: row?.unique_tags === 1, eolGracePeriod: row?.eol_grace_period === 1 };
}
