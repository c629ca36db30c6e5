/** Deletes packages that no image has any more, and findings that were closed long ago. */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { deleteInChunks, deleteRows } from "../../jobs/delete-in-chunks.ts";
import { Loop, waitFully } from "../../jobs/loop.ts";
import { createPace, type Pace } from "../../jobs/pace.ts";
import { chunksBySize } from "../../lib/chunks-by-size.ts";
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
  const pace = createPace({ pauseFactor: PAUSE_FACTOR });
  await deleteUnusedPackages(store, pace);
  const before = new Date(clock.now().getTime() - RETENTION_MS).toISOString();
  const rows = { table: "finding", key: ["package_id", "vulnerability", "open_time"], condition: sql<boolean>`close_time < ${before}` };
  await deleteInChunks({ store, chunkSize: CHUNK_SIZE, pace }, (db, limit) => deleteRows(db, rows, limit));
}

/** Walks through all packages, because a statement that looks for the unused ones would read those in use before them each time. */
async function deleteUnusedPackages(store: Store, pace: Pace): Promise<void> {
  for (let page = await readPage(store.reader, 0); page.length > 0; page = await readPage(store.reader, page.at(-1)?.id ?? 0)) {
    const unused = page.filter(({ findings }) => findings !== null);
    // The findings of a package are rows of the transaction, too.
    const chunks = chunksBySize(unused, { sizeOf: ({ findings }) => 1 + Number(findings), maxSize: CHUNK_SIZE });
    for (const chunk of chunks) await pace(() => store.transaction((db) => deletePackages(db, chunk)));
  }
}

interface Package {
  readonly id: number;
  /** Null if an image has the package. */
  readonly findings: number | null;
}

async function readPage(db: ReadDb, after: number): Promise<readonly Package[]> {
  const count = sql`(select count(*) from finding as f where f.package_id = p.id)`;
  const { rows } = await sql<Package>`select p.id, case when ${isUnused("p")} then ${count} end as findings
    from (select id from matched_package where id > ${after} order by id limit ${CHUNK_SIZE}) as p order by p.id`.execute(db);
  return rows;
}

function isUnused(table: string) {
  return sql<boolean>`not exists (select 1 from matched_image_package as l where l.package_id = ${sql.ref(table)}.id)`;
}

/** An image may have got one of them meanwhile. */
async function deletePackages(db: WriteDb, packages: readonly Package[]): Promise<void> {
  const given = db.dialect.rowsOf(
    packages.map(({ id }) => ({ id })),
    { id: "bigint" },
  );
  await sql`delete from matched_package where id in (select g.id from ${given} as g) and ${isUnused("matched_package")}`.execute(db);
}
