/** Reports how much content the registry and the libraries hold, the uploads that are under way, and collection. */
import type { ReadDb, Store } from "../../db/store.ts";
import { createPace } from "../../jobs/pace.ts";
import { MAX_COUNTED, READ_EVERY_MS } from "../../jobs/queue-usage.ts";
import type { Counter, Meter } from "../../lib/meter.ts";
import { type Counts, lastFinished } from "../collection/collection-state.ts";

/** Summing up all blobs reads their whole table, in steps. */
const SUM_EVERY_MS = 15 * 60_000;
const BLOBS_PER_STEP = 2000;
/** Others have the database for most of the time. */
const PAUSE_FACTOR = 4;

export function meterRegistry(store: Store, meter: Meter): void {
  const sum = shareResult(() => sumBlobs(store.reader));
  const slow = { type: "gauge", everyMs: SUM_EVERY_MS } as const;
  meter.read({ ...slow, name: "holt_blobs", help: "Blobs of images and libraries, summed up every 15 minutes." }, async () => [
    { value: (await sum()).count },
  ]);
  meter.read({ ...slow, name: "holt_blob_bytes", help: "Bytes of these blobs." }, async () => [{ value: (await sum()).bytes }]);
  const often = { type: "gauge", everyMs: READ_EVERY_MS } as const;
  meter.read(
    { ...often, name: "holt_uploads", help: `Uploads of blobs that have begun and not ended, at most ${MAX_COUNTED}.` },
    async () => [{ value: await countUploads(store.reader) }],
  );
  const help = "When the last collection ended, in seconds since 1970. Missing while an interrupted one is to be continued.";
  meter.read({ ...often, name: "holt_collection_finished_timestamp_seconds", help }, async () => {
    const finished = await lastFinished(store.reader);
    return finished === undefined ? [] : [{ value: finished.getTime() / 1000 }];
  });
}

const COLLECTED = ["uploads", "manifests", "links", "blobs"] as const;

/** Counts what the collections of this server removed. */
export function createCollectionCounter(meter: Meter): (counts: Counts) => void {
  const removed: Counter = meter.counter({
    name: "holt_collected_total",
    help: "Unneeded things that collections of this server removed.",
    labels: { kind: new Set(COLLECTED) },
  });
  const bytes = meter.counter({ name: "holt_collected_bytes_total", help: "Bytes of the blobs that they removed." });
  return (counts) => {
    for (const kind of COLLECTED) removed.add(counts[kind], kind);
    bytes.add(counts.bytes);
  };
}

interface BlobSum {
  readonly count: number;
  readonly bytes: number;
}

async function sumBlobs(db: ReadDb): Promise<BlobSum> {
  const pace = createPace({ pauseFactor: PAUSE_FACTOR });
  let total: BlobSum = { count: 0, bytes: 0 };
  for (let after: string | null = ""; after !== null; ) {
    const from: string = after;
    const page = await pace(() => sumPage(db, from));
    total = { count: total.count + page.count, bytes: total.bytes + (page.bytes ?? 0) };
    after = page.last;
  }
  return total;
}

async function sumPage(db: ReadDb, after: string) {
  const rows = db.selectFrom("blob").select(["digest", "size"]).where("digest", ">", after).orderBy("digest").limit(BLOBS_PER_STEP).as("b");
  return db
    .selectFrom(rows)
    .select(({ fn }) => [fn.countAll<number>().as("count"), fn.sum<number | null>("size").as("bytes"), fn.max("digest").as("last")])
    .executeTakeFirstOrThrow();
}

async function countUploads(db: ReadDb): Promise<number> {
  const rows = db.selectFrom("upload").selectAll().limit(MAX_COUNTED).as("u");
  return (await db.selectFrom(rows).select(db.fn.countAll<number>().as("count")).executeTakeFirst())?.count ?? 0;
}

/** Callers that ask while the work is under way get its result. */
function shareResult<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
