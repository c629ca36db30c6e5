/** Remembers of which critical vulnerabilities of images subscribers know. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { insertRows } from "../storage/insert-rows.ts";
import type { CriticalNoticeTable } from "../tables.ts";
import type { Look } from "./critical-looks.ts";

/** @returns the vulnerabilities that images gained, sorted; images that gained none are left out */
export async function recordCritical(db: WriteDb, looks: readonly Look[]): Promise<ReadonlyMap<Look, readonly string[]>> {
  const known = await readKnown(db, looks);
  const added = new Map<Look, readonly string[]>();
  const gone: CriticalNoticeTable[] = [];
  for (const look of looks) {
    const before = known.get(keyOf(look.imageId, look.repoUid)) ?? new Set();
    const gained = [...look.critical.keys()].filter((id) => !before.has(id)).sort();
    if (gained.length > 0) added.set(look, gained);
    for (const vulnerability of before)
      if (!look.critical.has(vulnerability)) gone.push({ image_id: look.imageId, repo_uid: look.repoUid, vulnerability });
  }
  await forget(db, gone);
  const rows = [...added].flatMap(([{ imageId, repoUid }, ids]) =>
    ids.map((vulnerability) => ({ image_id: imageId, repo_uid: repoUid, vulnerability })),
  );
  await insertRows<CriticalNoticeTable>(db, "critical_notice", [], rows);
  return added;
}

function keyOf(imageId: number, repoUid: string): string {
  return `${imageId} ${repoUid}`;
}

/** The vulnerabilities by image and repo. */
async function readKnown(db: ReadDb, looks: readonly Look[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const images = db.dialect.rowsOf(
    [...new Set(looks.map(({ imageId }) => imageId))].map((id) => ({ id })),
    { id: "bigint" },
  );
  const { rows } = await sql<CriticalNoticeTable>`select n.image_id, n.repo_uid, n.vulnerability from ${images} as i
    cross join critical_notice as n where n.image_id = i.id`.execute(db);
  const byLook = Map.groupBy(rows, ({ image_id, repo_uid }) => keyOf(image_id, repo_uid));
  return new Map([...byLook].map(([key, ofLook]) => [key, new Set(ofLook.map(({ vulnerability }) => vulnerability))]));
}

async function forget(db: WriteDb, notices: readonly CriticalNoticeTable[]): Promise<void> {
  if (notices.length === 0) return;
  const given = db.dialect.rowsOf(notices, { image_id: "bigint", repo_uid: "text", vulnerability: "text" });
  await sql`delete from critical_notice where (image_id, repo_uid, vulnerability) in
    (select g.image_id, g.repo_uid, g.vulnerability from ${given} as g)`.execute(db);
}
