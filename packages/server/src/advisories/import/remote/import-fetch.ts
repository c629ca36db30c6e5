/** Fetches the files of imports that name an address, several at a time. A file that has arrived becomes an import that waits. */
import { randomUUID } from "node:crypto";
import type { Store, WriteDb } from "../../../db/store.ts";
import { parseSession } from "../../../iam/identities/stored-session.ts";
import { isNotOf } from "../../../jobs/fair-share.ts";
import { startFairWorker } from "../../../jobs/fair-worker.ts";
import { createLease, type Lease, RELEASED } from "../../../jobs/lease.ts";
import { Loop } from "../../../jobs/loop.ts";
import { LostLease, type Worker } from "../../../jobs/worker.ts";
import type { Log } from "../../../lib/log.ts";
import { type DownloadOptions, downloadFeed } from "../../mirrors/feed-download.ts";
import { fetching } from "../../mirrors/fetching.ts";
import { FETCH_LEASE_MS } from "../../tables.ts";
import { reasonToGiveUp } from "./import-queue.ts";
import { type RightsDependencies, rightsOf } from "./import-rights.ts";
import type { ImportRow } from "./import-row.ts";

export interface FetchOptions extends Omit<DownloadOptions, "onBytes">, RightsDependencies {
  readonly store: Store;
  readonly log: Log;
  /** There is an import to run. */
  onImport(): void;
}

/** How often the number of received bytes is stored. */
const SAVE_MS = 1000;

/** The import as it was claimed, with the staged file that this fetch writes. */
type ClaimedImport = ImportRow & { readonly url: string };

/** How a fetch ended. */
type Outcome = { readonly error: string } | { readonly size: number; readonly digest: string };

export function startFetchWorker(options: FetchOptions): Worker<ClaimedImport> {
  const { store, clock, log } = options;
  const lease = createLease({ store, clock, table: "advisory_import_fetch", key: "import_uid", durationMs: FETCH_LEASE_MS });
  return startFairWorker({
    ...fetching,
    name: "fetching imports",
    store,
    log,
    lease,
    due: (db, full) =>
      db
        .selectFrom("advisory_import_fetch")
        .select("import_uid")
        .where(lease.isFree())
        .where(isNotOf(db, full, "import_uid"))
        .orderBy("create_time")
        .orderBy("import_uid"),
    uidOf: (row) => row.import_uid,
    begin: (db, row) => beginFetch(db, row.import_uid),
    keyOf: (row) => row.uid,
    run: (row, signal) => runFetch(row, lease, options, signal),
  });
}

/** Each fetch writes a file of its own: that of a killed server may still grow. */
async function beginFetch(db: WriteDb, uid: string): Promise<ClaimedImport> {
  const fetch = db.updateTable("advisory_import_fetch").set(({ eb }) => ({ attempts: eb("attempts", "+", 1) }));
  const { attempts } = await fetch.where("import_uid", "=", uid).returning("attempts").executeTakeFirstOrThrow();
  const update = db.updateTable("advisory_import").set({ file: randomUUID(), received_bytes: 0 }).where("uid", "=", uid);
  const row = await update.returningAll().executeTakeFirstOrThrow();
  return { ...row, url: row.url ?? "", attempts };
}

async function runFetch(row: ClaimedImport, lease: Lease, options: FetchOptions, signal: AbortSignal): Promise<void> {
  const { store, files, onImport } = options;
  const { uid, file } = row;
  let isKept = false;
  try {
    const outcome = await fetchFile(row, lease, options, signal);
    if (outcome !== undefined) {
      const isHeld = await lease.hold(uid, (db) => settle(db, uid, outcome, options));
      isKept = isHeld && "size" in outcome;
    }
    // Another server fetches it. A lost row is not touched: this server may have claimed it again.
    else if (!(signal.reason instanceof LostLease)) await store.transaction((db) => release(db, row));
    if (isKept) onImport();
  } finally {
    if (!isKept) await files.remove(file);
  }
}

/** Undefined where the signal ended the fetch. */
async function fetchFile(row: ClaimedImport, lease: Lease, options: FetchOptions, signal: AbortSignal): Promise<Outcome | undefined> {
  // All earlier fetches were killed.
  const error = reasonToGiveUp(row.attempts - 1);
  if (error !== undefined) return { error };
  const { mayImport } = await rightsOf(row, parseSession(row.session ?? "{}"), options);
  if (!mayImport) return { error: "the identity that it acts for may not import this, or not any more" };
  let size = 0;
  await using _watch = startWatch(row, lease, options, () => size);
  const feed = { url: row.url, etag: "", last_modified: "" };
  const onBytes = (received: number) => {
    size = received;
  };
  const fetched = await downloadFeed(feed, row.file, { ...options, onBytes }, signal);
  if (fetched?.outcome === "file") return { size: fetched.size, digest: fetched.digest };
  return fetched?.outcome === "failed" ? { error: fetched.error } : undefined;
}

/** Stores the number of received bytes until it is disposed of. */
function startWatch({ uid }: ClaimedImport, lease: Lease, { log }: FetchOptions, sizeNow: () => number): AsyncDisposable {
  let stored = 0;
  return new Loop({
    name: "storing the progress of a fetch",
    log,
    spacingMs: 100,
    async step() {
      const size = sizeNow();
      if (size !== stored) await lease.hold(uid, (db) => change(db, uid, { received_bytes: size }));
      stored = size;
      return SAVE_MS;
    },
  });
}

async function settle(db: WriteDb, uid: string, outcome: Outcome, { clock }: FetchOptions): Promise<void> {
  if ("error" in outcome) await change(db, uid, { state: "failed", error: outcome.error, end_time: clock.now().toISOString() });
  else await change(db, uid, { state: "waiting", received_bytes: outcome.size, digest: outcome.digest });
  await db.deleteFrom("advisory_import_fetch").where("import_uid", "=", uid).execute();
}

async function change(db: WriteDb, uid: string, columns: Partial<ImportRow>): Promise<void> {
  await db.updateTable("advisory_import").set(columns).where("uid", "=", uid).execute();
}

/** The import waits again, as if its fetch had not been begun. */
async function release(db: WriteDb, { uid, attempts }: ClaimedImport): Promise<void> {
  const columns = { ...RELEASED, attempts: attempts - 1 };
  await db.updateTable("advisory_import_fetch").set(columns).where("import_uid", "=", uid).execute();
}
