/**
 * Serves feeds of advisories on demand. A feed is cached while nothing changes. feed-builds.ts builds it, once for all
 * requests and at a limited rate.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BlobReference } from "../../blobs/references.ts";
import { createBlobRemoval } from "../../blobs/removal.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { notFound, unavailable } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { createFeedBuilds } from "./feed-builds.ts";
import { type CachedFeed, FeedCache } from "./feed-cache.ts";
import { type Rendered, renderSet } from "./feed-entries.ts";
import type { StoredFile } from "./feed-files.ts";
import type { FeedFormat } from "./feed-format.ts";
import { contextOf, loadRendering } from "./feed-maker.ts";
import { findSiblingsByKey, readChangeToken } from "./feed-source.ts";

/** A built feed, whose file is in the blob store. */
export type Feed = Pick<CachedFeed, "group" | "build" | "data" | "sum" | "lastModified">;

export interface Feeds extends AsyncDisposable {
  /** @throws NOT_FOUND if the group does not exist */
  assertGroup(group: string): Promise<void>;
  /**
   * The current feed. If the build takes too long, or the feed was built a moment ago, the previous one.
   * @param isAnonymous whether the caller is unauthenticated; for them, feeds are rebuilt less often
   * @throws NOT_FOUND, UNAVAILABLE, RESOURCE_EXHAUSTED
   */
  feed(group: string, format: FeedFormat, isAnonymous: boolean): Promise<Feed>;
  /** The feed's file, compressed with gzip. */
  gzip(feed: Feed): Promise<StoredFile>;
  /** Has the feed built again on the next request, because its file is lost. */
  forget(feed: Feed): Promise<void>;
  /** The file that the feed's archive has for an advisory id, rendered now. @throws NOT_FOUND */
  record(group: string, format: FeedFormat, advisoryId: string): Promise<Rendered>;
}

export interface FeedsOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly blobReferences: readonly BlobReference[];
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly baseUrl: string;
}

/** How long a request waits for a build. */
const WAIT_MS = 20_000;

export function createFeeds({ store, blobs, blobReferences: references, dataDir, clock, log, baseUrl }: FeedsOptions): Feeds {
  const removal = createBlobRemoval({ store, blobs, references });
  const cache = new FeedCache({ store, blobs, removal, clock, scratch: join(dataDir, "feeds") });
  const db = store.reader;
  const source = { db, baseUrl };
  const builds = createFeedBuilds({ db, cache, baseUrl, clock, log });
  const compressions = new Map<string, Promise<StoredFile>>();

  async function findCurrent(group: string, format: FeedFormat, isAnonymous: boolean): Promise<CachedFeed> {
    const context = contextOf(await loadRendering(source, group));
    const cached = await cache.read(group, format.name);
    const { token } = await readChangeToken(db, group, format);
    if (cached?.token === token && cached.context === context) return cached;
    const build = builds.request(group, format, { isAnonymous, isLost: cached === undefined });
    if (build !== undefined) return waitForBuild(build, cached);
    // A build may have ended since the cache was read.
    return (await cache.read(group, format.name)) ?? throwStillBuilding();
  }

  return {
    async assertGroup(group) {
      await loadRendering(source, group);
    },
    async feed(group, format, isAnonymous) {
      const feed = await findCurrent(group, format, isAnonymous);
      if (feed.entries === 0 && format.layout.kind === "list" && !format.layout.mayBeEmpty)
        throw notFound("Feed", `${group}/${format.file}`);
      await cache.touch(feed);
      return feed;
    },
    gzip(feed) {
      const packed = compressions.get(feed.build) ?? cache.gzip(feed).finally(() => compressions.delete(feed.build));
      compressions.set(feed.build, packed);
      return packed;
    },
    forget: (feed) => cache.forget(feed),
    async record(group, format, advisoryId) {
      const rendering = await loadRendering(source, group);
      const [set = []] = await findSiblingsByKey(db, group, format.sibling, [advisoryId]);
      const rendered = await renderSet(db, format, set, rendering);
      if (rendered === undefined) throw notFound("Advisory", advisoryId);
      return rendered;
    },
    async [Symbol.asyncDispose]() {
      await builds[Symbol.asyncDispose]();
      await Promise.allSettled(compressions.values());
    },
  };
}

/** Waits for a limited time, then falls back to the previous feed, or else tells the client to try again. */
async function waitForBuild(made: Promise<CachedFeed>, before: CachedFeed | undefined): Promise<CachedFeed> {
  const timeout = new AbortController();
  made.catch(() => {});
  try {
    const first = await Promise.race([made, sleep(WAIT_MS, undefined, { signal: timeout.signal, ref: false })]);
    return first ?? before ?? throwStillBuilding();
  } finally {
    timeout.abort();
  }
}

function throwStillBuilding(): never {
  throw unavailable("the feed is still being built; try again shortly");
}
