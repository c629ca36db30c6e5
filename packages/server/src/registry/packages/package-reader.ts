/** Reads what is in images as they are pushed, in the background, one at a time on each server and in turns of organizations. No push waits for it. */
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { parseManifest } from "../content/manifest.ts";
import { type ContentReader, createContentReader } from "./content-reader.ts";
import { findUnread } from "./find-unread.ts";
import { type FoundPackage, Unreadable } from "./found-package.ts";
import { tellOrigins } from "./package-origins.ts";
import { readingOf } from "./reading-of.ts";
import type { ReadResult } from "./reading-protocol.ts";
import { type Claim, createScanQueue, LostClaim, MAX_ATTEMPTS, type Outcome, type ScanQueue } from "./scan-queue.ts";
import { insertPackages, removePackages } from "./stored-packages.ts";

export interface PackageReaderOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Log;
  /** For one manifest. */
  readonly maxTimeMs?: number;
}

export interface PackageReader extends AsyncDisposable {
  /** A manifest was pushed. Costs next to nothing. */
  wake(): void;
}

const RENEW_MS = 15_000;
/** How often a server looks for what others left. */
const POLL_MS = 2000;
const SPACING_MS = 10;
/** Between pieces of the search for what was pushed before. */
const SEARCH_SPACING_MS = 100;

export function startPackageReader(options: PackageReaderOptions): PackageReader {
  const { store, blobs, clock, log } = options;
  const queue = createScanQueue(store, clock);
  const content = createContentReader(blobs, options.maxTimeMs);
  const stop = new AbortController();
  const isAlone = store.dialect.notify === undefined;
  let isBegun = false;
  const loop = new Loop({
    ...{ name: "reading packages of images", log, spacingMs: SPACING_MS },
    async step() {
      if (!isBegun && isAlone) await queue.releaseAll();
      isBegun = true;
      const claim = stop.signal.aborted ? undefined : await queue.claim();
      if (claim !== undefined) {
        await work(claim, { ...options, queue, content, signal: stop.signal });
        return 0;
      }
      const due = await queue.nextDue();
      const wait = due === null ? Number.POSITIVE_INFINITY : Math.max(0, due.getTime() - clock.now().getTime());
      return Math.min(wait, isAlone ? Number.POSITIVE_INFINITY : POLL_MS);
    },
  });
  const search = new Loop({
    ...{ name: "looking for images that were not read", log, spacingMs: SEARCH_SPACING_MS },
    async step() {
      const next = stop.signal.aborted ? undefined : await findUnread(store, clock.now());
      loop.wake();
      return next === undefined ? Number.POSITIVE_INFINITY : Math.max(0, next.getTime() - clock.now().getTime());
    },
  });
  return {
    wake: () => loop.wake(),
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the server stops"));
      await search[Symbol.asyncDispose]();
      await loop[Symbol.asyncDispose]();
      await content[Symbol.asyncDispose]();
    },
  };
}

interface Workplace extends PackageReaderOptions {
  readonly queue: ScanQueue;
  readonly content: ContentReader;
  readonly signal: AbortSignal;
}

async function work(claim: Claim, place: Workplace): Promise<void> {
  const { queue, log, signal } = place;
  const lost = new AbortController();
  const renewal = setInterval(
    () =>
      void queue
        .renew(claim)
        .then((isHeld) => isHeld || lost.abort(new LostClaim(claim.digest)))
        .catch(() => {}),
    RENEW_MS,
  );
  try {
    if (claim.isRead) {
      await tellOrigins(place.store, claim.digest, claim.orgUid);
      await queue.settle(claim);
    } else {
      const outcome = await read(claim, { ...place, signal: AbortSignal.any([signal, lost.signal]) });
      await queue.finish(claim, outcome);
      log.info(
        { digest: claim.digest, state: outcome.state, packages: outcome.packageCount, error: outcome.error },
        "read the packages of an image",
      );
    }
  } catch (error) {
    if (error instanceof LostClaim) return;
    if (signal.aborted) return await queue.giveBack(claim);
    log.warn({ err: error, digest: claim.digest, attempts: claim.attempts }, "reading the packages of an image failed");
    await queue.postpone(claim, `it could not be read: ${(error as Error).message}`);
  } finally {
    clearInterval(renewal);
  }
}

async function read(claim: Claim, { store, queue, content, signal }: Workplace): Promise<Outcome> {
  const { digest, attempts } = claim;
  if (attempts > MAX_ATTEMPTS) return failed("reading it was cut short each time");
  const row = await store.reader
    .selectFrom("manifest")
    .select(["content", "media_type"])
    .where("digest", "=", digest)
    .limit(1)
    .executeTakeFirst();
  const reading = row === undefined ? undefined : readingOf(parseManifest(row.content, row.media_type));
  // Collection takes it away.
  if (reading === undefined) return failed("no repository has it any more");
  await removePackages(store, digest, (db) => queue.assertHeld(db, claim));
  let packageCount = 0;
  const onPackages = async (packages: readonly FoundPackage[]) => {
    // Where the time runs out meanwhile, they are there all the same.
    packageCount += packages.length;
    await store.transaction(async (db) => {
      await queue.assertHeld(db, claim);
      await insertPackages(db, digest, packages);
    });
  };
  try {
    return outcomeOf(await content.read(reading, onPackages, signal), packageCount);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return outcomeOf({ isWhole: false, distribution: "", problems: [error.message] }, packageCount);
  }
}

function outcomeOf({ isWhole, distribution, problems }: ReadResult, packageCount: number): Outcome {
  return { state: isWhole ? "done" : "failed", distribution, error: problems.join("\n"), packageCount };
}

function failed(error: string): Outcome {
  return { state: "failed", distribution: "", error, packageCount: 0 };
}
