/** Yanking (PEP 592): a version stays for who names it exactly, and is chosen by nobody else. */
import type { Store } from "../db/store.ts";
import { notFound } from "../lib/errors.ts";
import type { Library } from "./library.ts";

/** Why, for people; empty for no reason. Undefined takes it back. */
export type YankReason = string | undefined;

/** @param sortKey of the version, which may be spelled in several ways. @throws NOT_FOUND */
export function setYanked(library: Library, key: string, sortKey: string, reason: YankReason, now: Date, store: Store): Promise<void> {
  return store.transaction(async (db) => {
    const wanted = db
      .selectFrom("library_artifact")
      .select(["uid", "serial"])
      .where("parent", "=", library.groupUid)
      .where("ecosystem", "=", library.ecosystem)
      .where("key", "=", key);
    const artifact = await db.dialect.forUpdate(wanted).executeTakeFirst();
    const { numUpdatedRows } = await db
      .updateTable("library_version")
      .set({ yank_time: reason === undefined ? null : now.toISOString(), yank_reason: reason ?? "" })
      .where("artifact_uid", "=", artifact?.uid ?? "")
      .where("sort_key", "=", sortKey)
      .executeTakeFirstOrThrow();
    if (artifact === undefined || numUpdatedRows === 0n) throw notFound("Version", `of ${key}`);
    await db
      .updateTable("library_artifact")
      .set({ serial: artifact.serial + 1 })
      .where("uid", "=", artifact.uid)
      .execute();
  });
}
