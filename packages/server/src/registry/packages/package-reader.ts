/**
 * Reads the packages of images after they were pushed, in the background: one image at a time on each server, in turns
 * of organizations.
 */
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { LostLease, Worker } from "../../jobs/worker.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { manifestParser } from "../content/manifest-parsers.ts";
import { type ContentReader, createContentReader } from "./content-reader.ts";
import { findUnread, SCANS } from "./find-unread.ts";
import { type FoundPackage, Unreadable } from "./found-package.ts";
import { recordOrigins } from "./package-origins.ts";
import { readingOf } from "./reading-of.ts";
import type { ReadResult } from "./reading-protocol.ts";
import { type ClaimedScan, createScanQueue, MAX_ATTEMPTS, type ScanQueue, type ScanResult } from "./scan-queue.ts";
import { insertPackages, removePackages } from "./stored-packages.ts";

export interface PackageReaderOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly parsers: Parsers;
  /** Time for one manifest. */
  readonly maxTimeMs?: number;
}

export interface PackageReader extends AsyncDisposable {
  /** A manifest was pushed. Costs next to nothing. */
  wake(): void;
}

const RENEW_MS = 15_000;
/** How often to look for scans that other servers queued or left behind. */
const POLL_MS = 2000;
/** Between two batches of the search for manifests that were never queued. */
const SEARCH_SPACING_MS = 100;

export function startPackageReader(options: PackageReaderOptions): PackageReader {
  const { store, blobs, clock, log } = options;
  const queue = createScanQueue(store, clock);
  const content = createContentReader(blobs, options.maxTimeMs);
  const pollMs = store.dialect.notify === undefined ? Number.POSITIVE_INFINITY : POLL_MS;
  let isClosed = false;
  const worker = new Worker<ClaimedScan>({
    name: "reading packages of images",
    log,
    lease: queue.lease,
    renewMs: RENEW_MS,
    maxRuns: 1,
    keyOf: ({ digest }) => digest,
    async claim() {
      const claim = await queue.claim();
      if (claim !== undefined) return { claimed: [claim], nextMs: pollMs };
      const due = await queue.nextDue();
      const dueMs = due === null ? Number.POSITIVE_INFINITY : Math.max(0, due.getTime() - clock.now().getTime());
      return { claimed: [], nextMs: Math.min(dueMs, pollMs) };
    },
    renew: async (claims) => {
      const held = new Set<string>();
      for (const claim of claims) if (await queue.renew(claim)) held.add(claim.digest);
      return held;
    },
    run: (claim, signal) => scan(claim, { ...options, queue, content, signal }),
  });
  const search = new Loop({
    name: "looking for images that were not read",
    log,
    spacingMs: SEARCH_SPACING_MS,
    async step() {
      const next = isClosed ? undefined : await findUnread(store, options.parsers, clock.now());
      worker.wake();
      return next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next.getTime() - clock.now().getTime());
    },
  });
  return {
    wake: () => worker.wake(),
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await search[Symbol.asyncDispose]();
      await worker[Symbol.asyncDispose]();
      await content[Symbol.asyncDispose]();
    },
  };
}

interface ScanContext extends PackageReaderOptions {
  readonly queue: ScanQueue;
  readonly content: ContentReader;
  readonly signal: AbortSignal;
}

async function scan(claim: ClaimedScan, context: ScanContext): Promise<void> {
  const { store, queue, log, signal } = context;
  const { digest, attempts } = claim;
  try {
    if (claim.isRead) {
      await recordOrigins(store, digest, claim.orgUid);
      await queue.originsRecorded(claim);
      return;
    }
    const result = await readPackages(claim, context);
    await queue.finish(claim, result);
    const { state, packageCount: packages, error } = result;
    log.info({ digest, state, packages, error }, "read the packages of an image");
  } catch (error) {
    if (error instanceof LostLease || signal.reason instanceof LostLease) return;
    if (signal.aborted) return await queue.release(claim);
    log.warn({ err: error, digest, attempts }, "reading the packages of an image failed");
    await queue.postpone(claim, `it could not be read: ${(error as Error).message}`);
  }
}

async function readPackages(claim: ClaimedScan, { store, parsers, queue, content, signal }: ScanContext): Promise<ScanResult> {
  const { digest, attempts } = claim;
  if (attempts > MAX_ATTEMPTS) return failure("reading it was cut short each time");
  const row = await store.reader
    .selectFrom("manifest")
    .select(["content", "media_type"])
    .where("digest", "=", digest)
    .limit(1)
    .executeTakeFirst();
  const file = row && { content: row.content, contentType: row.media_type };
  const read = file && (await parsers.run(manifestParser, file, SCANS));
  if (read !== undefined && "problem" in read) return failure(read.problem);
  const reading = read !== undefined && "manifest" in read ? readingOf(read.manifest) : undefined;
  // Collection deletes the scan later.
  if (reading === undefined) return failure("no repository has it any more");
  await removePackages(store, digest, (db) => queue.assertHeld(db, claim));
  let packageCount = 0;
  const onPackages = async (packages: readonly FoundPackage[]) => {
    // Counted before they are stored: they are stored even if the time runs out meanwhile.
    packageCount += packages.length;
    await store.transaction(async (db) => {
      await queue.assertHeld(db, claim);
      await insertPackages(db, digest, packages);
    });
  };
  try {
    return resultOf(await content.read(reading, onPackages, signal), packageCount);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return resultOf({ isWhole: false, distribution: "", problems: [error.message] }, packageCount);
  }
}

function resultOf({ isWhole, distribution, problems }: ReadResult, packageCount: number): ScanResult {
  return { state: isWhole ? "done" : "failed", distribution, error: problems.join("\n"), packageCount };
}

function failure(error: string): ScanResult {
  return { state: "failed", distribution: "", error, packageCount: 0 };
}
