/** Deletes packages that no image has any more, and findings that were closed long ago. */
import { sql } from "kysely";
import type { Store } from "../../db/store.ts";
import { deleteInChunks, deleteRows } from "../../jobs/delete-in-chunks.ts";
import { Loop, waitFully } from "../../jobs/loop.ts";
import { createPace } from "../../jobs/pace.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Longer than the longest range of counts. */
const RETENTION_MS = 400 * DAY_MS;
/** Rows per transaction. */
const CHUNK_SIZE = 500;
/** Others have the database for this multiple of a chunk's time. */
const PAUSE_FACTOR = 1;

export interface PruneOptions {
  readonly store: Store;
  readonly clock: Clock;
}

export function startPruningFindings({ log, ...options }: PruneOptions & { readonly log: Log }): Loop {
  return new Loop({
    name: "deleting old findings",
    log,
    spacingMs: 1000,
    step: waitFully(async () => {
      await pruneFindings(options);
      return DAY_MS;
    }),
  });
}

export async function pruneFindings({ store, clock }: PruneOptions): Promise<void> {
  const chunks = { store, chunkSize: CHUNK_SIZE, pace: createPace({ pauseFactor: PAUSE_FACTOR }) };
  const isUnused = sql<boolean>`not exists (select 1 from matched_image_package as l where l.package_id = matched_package.id)`;
  await deleteInChunks(chunks, (db, limit) => deleteRows(db, { table: "matched_package", key: ["id"], condition: isUnused }, limit));
  const before = new Date(clock.now().getTime() - RETENTION_MS).toISOString();
  const rows = { table: "finding", key: ["package_id", "vulnerability", "open_time"], condition: sql<boolean>`close_time < ${before}` };
  await deleteInChunks(chunks, (db, limit) => deleteRows(db, rows, limit));
}
