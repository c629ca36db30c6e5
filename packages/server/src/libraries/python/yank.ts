/** Yanking (PEP 592): installers choose a yanked version only if it is named exactly. */
import type { Store } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import type { Library } from "../library.ts";
import { appendYanked, type LibraryChange } from "../library-event.ts";

/** Shown to users; may be empty. Undefined unyanks the version. */
export type YankReason = string | undefined;

export interface VersionToYank {
  readonly library: Library;
  /** The key of the artifact. */
  readonly key: string;
  /** By sort key, because a version can be spelled in several ways. */
  readonly sortKey: string;
}

/** Idempotent. @throws NOT_FOUND */
export function setYanked(
  { library, key, sortKey }: VersionToYank,
  reason: YankReason,
  change: LibraryChange,
  store: Store,
): Promise<void> {
  return store.transaction(async (db) => {
    const wanted = db
      .selectFrom("library_artifact")
      .select(["uid", "name", "serial"])
      .where("parent", "=", library.groupUid)
      .where("ecosystem", "=", library.ecosystem)
      .where("key", "=", key);
    const artifact = await db.dialect.forUpdate(wanted).executeTakeFirst();
    if (artifact === undefined) throw notFound("Version", `of ${key}`);
    const versions = await db
      .selectFrom("library_version")
      .select(["uid", "version", "yank_time", "yank_reason"])
      .where("artifact_uid", "=", artifact.uid)
      .where("sort_key", "=", sortKey)
      .execute();
    if (versions.length === 0) throw notFound("Version", `of ${key}`);
    const changed = versions.filter(({ yank_time, yank_reason }) => reason !== (yank_time === null ? undefined : yank_reason));
    for (const { uid, version } of changed) {
      const yank_time = reason === undefined ? null : change.now.toISOString();
      await db
        .updateTable("library_version")
        .set({ yank_time, yank_reason: reason ?? "" })
        .where("uid", "=", uid)
        .execute();
      await appendYanked(db, { ...library, artifactUid: artifact.uid, name: artifact.name }, { version, reason }, change);
    }
    if (changed.length === 0) return;
    await db
      .updateTable("library_artifact")
      .set({ serial: artifact.serial + 1 })
      .where("uid", "=", artifact.uid)
      .execute();
  });
}
