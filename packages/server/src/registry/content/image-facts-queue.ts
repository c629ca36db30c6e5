/**
 * Spreads the facts of a manifest to the indexes above it: at once in a few rows, the rest in the background. An index
 * that gains facts is queued itself, with all its parents still to come. So facts reach every level, also of indexes
 * that are pushed meanwhile.
 */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { type ChunkQueueOptions, queuedItem, startChunkQueue } from "../../jobs/chunk-queue.ts";
import type { Worker } from "../../jobs/worker.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { rootOf } from "../../lib/uid.ts";
import { OciError } from "../oci-error.ts";
import { FACTS_LEASE_MS } from "../tables.ts";
import { type FactsToSpread, MAX_ROWS, spreadImageFacts } from "./image-facts.ts";
import { lockRepo } from "./lock-repo.ts";

/** Manifests whose facts one push spreads itself: its own, and indexes above. Each costs a few queries. */
const MAX_AT_ONCE = 10;
/** Waiting manifests of an organization. Only those in hundreds of indexes, or deep below others, wait at all. */
const MAX_WAITING_OF_ORGANIZATION = 1000;

/** The repo's row must be locked. @throws OciError TOOMANYREQUESTS if too many manifests wait */
export async function spreadFacts(db: WriteDb, repoUid: string, digest: string, now: Date): Promise<void> {
  const waiting: FactsToSpread[] = [{ repoUid, digest, after: "" }];
  let rows = MAX_ROWS;
  for (let next = waiting.shift(), count = 0; next !== undefined; next = waiting.shift()) {
    const spread = count++ < MAX_AT_ONCE && rows > 0 ? await spreadImageFacts(db, next, rows) : undefined;
    if (spread === undefined || spread.after !== undefined)
      return leave(db, [{ ...next, after: spread?.after ?? "" }, ...waiting], spread, now);
    rows -= spread.rows;
    waiting.push(...spread.gained.map((parent) => ({ repoUid, digest: parent, after: "" })));
  }
}

async function leave(
  db: WriteDb,
  waiting: readonly FactsToSpread[],
  spread: { readonly gained: readonly string[] } | undefined,
  now: Date,
): Promise<void> {
  const [{ repoUid }] = waiting as [FactsToSpread];
  const gained = (spread?.gained ?? []).map((digest) => ({ repoUid, digest, after: "" }));
  if ((await countWaiting(db, rootOf(repoUid))) >= MAX_WAITING_OF_ORGANIZATION)
    throw new OciError("TOOMANYREQUESTS", "the registry still records which indexes contain earlier manifests; try again in a minute");
  await append(db, [...waiting, ...gained], now);
}

async function countWaiting(db: ReadDb, orgUid: string): Promise<number> {
  const some = db.selectFrom("image_facts_wait").select("image").where("image", ">", `${orgUid}/`).where("image", "<", `${orgUid}0`);
  return (await some.limit(MAX_WAITING_OF_ORGANIZATION).execute()).length;
}

/** A manifest that waits already begins again: it has gained facts. */
async function append(db: WriteDb, waiting: readonly FactsToSpread[], now: Date): Promise<void> {
  const { request_time } = queuedItem(now);
  const byImage = new Map(waiting.map((each) => [`${each.repoUid}@${each.digest}`, each]));
  const rows = [...byImage].map(([image, { repoUid, digest, after }]) => ({ image, repo_uid: repoUid, digest, after }));
  if (rows.length === 0) return;
  const chosen = db.dialect.rowsOf(rows, { image: "text", repo_uid: "text", digest: "text", after: "text" });
  await sql`insert into image_facts_wait (image, repo_uid, digest, after, request_time)
    select r.image, r.repo_uid, r.digest, r.after, ${request_time} from ${chosen} as r where true
    on conflict (image) do update set after = excluded.after`.execute(db);
}

type QueueParts = Pick<ChunkQueueOptions, "store" | "clock" | "table" | "key" | "leaseMs" | "runChunk">;

/** The queue's table and its work, for the worker and for tests. */
export function factsQueue(store: Store, clock: Clock): QueueParts {
  return {
    store,
    clock,
    table: "image_facts_wait",
    key: "image",
    leaseMs: FACTS_LEASE_MS,
    async runChunk(db, image, lockItem) {
      const repoUid = image.slice(0, image.indexOf("@"));
      // A push locks in the same order.
      await lockRepo(db, repoUid);
      await lockItem();
      return spreadChunk(db, image, clock.now());
    },
  };
}

async function spreadChunk(db: WriteDb, image: string, now: Date): Promise<boolean> {
  const row = await db
    .selectFrom("image_facts_wait")
    .select(["repo_uid", "digest", "after"])
    .where("image", "=", image)
    .executeTakeFirstOrThrow();
  const { repo_uid: repoUid, digest } = row;
  const { gained, after } = await spreadImageFacts(db, { repoUid, digest, after: row.after }, MAX_ROWS);
  await append(
    db,
    gained.map((parent) => ({ repoUid, digest: parent, after: "" })),
    now,
  );
  if (after === undefined) await db.deleteFrom("image_facts_wait").where("image", "=", image).execute();
  else await db.updateTable("image_facts_wait").set({ after }).where("image", "=", image).execute();
  return after !== undefined;
}

export function startSpreadingFacts(store: Store, clock: Clock, log: Log): Worker<string> {
  return startChunkQueue({ name: "recording images for many indexes", log, ...factsQueue(store, clock) });
}
