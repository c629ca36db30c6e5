/** Fetches feeds that are due, several at a time. A feed that has changed becomes an import that waits. */
import { randomUUID } from "node:crypto";
import { find } from "../../api/resource/get.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { parseSession } from "../../iam/identities/stored-session.ts";
import { isNotOf } from "../../jobs/fair-share.ts";
import { startFairWorker } from "../../jobs/fair-worker.ts";
import { createLease, type Lease, RELEASED } from "../../jobs/lease.ts";
import { LostLease } from "../../jobs/worker.ts";
import type { Log } from "../../lib/log.ts";
import { parentOf } from "../../lib/uid.ts";
import { type RightsDependencies, rightsOf } from "../import/remote/import-rights.ts";
import { kinds } from "../import/remote/import-row.ts";
import { FETCH_LEASE_MS } from "../tables.ts";
import { type DownloadOptions, downloadFeed } from "./feed-download.ts";
import { fetching } from "./fetching.ts";
import { advisoryMirrors } from "./mirror-resource.ts";
import { attemptEnded, type Fetched, type MirrorRun, storeRun } from "./mirror-schedule.ts";

export interface MirrorOptions extends DownloadOptions, RightsDependencies {
  readonly store: Store;
  readonly log: Log;
  /** There is an import to run. */
  onImport(): void;
}

export interface MirrorWorker extends AsyncDisposable {
  /** There may be something to fetch. */
  wake(): void;
}

/** The run as it was claimed, with the file that this fetch writes. */
type ClaimedRun = MirrorRun & { readonly file: string };

export function startMirrorWorker(options: MirrorOptions): MirrorWorker {
  const { store, clock, log } = options;
  const lease = createLease({ store, clock, table: "advisory_mirror_run", key: "mirror_uid", durationMs: FETCH_LEASE_MS });
  return startFairWorker({
    ...fetching,
    name: "fetching feeds",
    store,
    log,
    lease,
    due: (db, full) =>
      db
        .selectFrom("advisory_mirror_run")
        .selectAll()
        .where("next_time", "<=", clock.now().toISOString())
        .where(lease.isFree())
        .where(isNotOf(db, full, "mirror_uid"))
        .orderBy("next_time"),
    uidOf: (run) => run.mirror_uid,
    begin: beginFetch,
    keyOf: (run) => run.mirror_uid,
    run: (run, signal) => runFetch(run, lease, options, signal),
  });
}

async function beginFetch(db: WriteDb, run: MirrorRun): Promise<ClaimedRun> {
  const file = randomUUID();
  await storeRun(db, run.mirror_uid, { file });
  return { ...run, file };
}

async function runFetch(run: ClaimedRun, lease: Lease, options: MirrorOptions, signal: AbortSignal): Promise<void> {
  const { store, files, clock, onImport } = options;
  const { mirror_uid: uid, file } = run;
  const attempt = { uid, file, begun: clock.now() };
  let isKept = false;
  try {
    const fetched = await fetch(run, options, signal);
    if (fetched !== undefined) isKept = await store.transaction((db) => attemptEnded(db, attempt, fetched, clock.now()));
    // The mirror is due as before. A lost row is not touched: this server may have claimed it again.
    else if (!(signal.reason instanceof LostLease)) await lease.hold(uid, (db) => storeRun(db, uid, { ...RELEASED, file: null }));
    if (isKept) onImport();
  } finally {
    if (!isKept) await files.remove(file);
  }
}

/** Undefined where the mirror is deleted, or the signal ended the fetch. */
async function fetch(run: ClaimedRun, options: MirrorOptions, signal: AbortSignal): Promise<Fetched | undefined> {
  const uid = run.mirror_uid;
  const mirror = await find(advisoryMirrors, uid, options.store.reader);
  if (mirror === undefined) return undefined;
  const destination = { parent: parentOf(uid), kind: kinds.get(mirror.kind) ?? "advisories" };
  const { mayImport } = await rightsOf(destination, parseSession(run.session), options);
  const error = "the identity that the mirror acts for may not import this any more: an identity that may can set the url again";
  if (!mayImport) return { outcome: "failed", status: 0, error, retryAfterMs: 0 };
  return downloadFeed({ ...run, url: mirror.url }, run.file, options, signal);
}
