/**
 * Serves feeds of advisories on demand. A feed is built once for all requests, cached while nothing changes, and
 * rebuilt at a limited rate.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BlobReference } from "../../blobs/references.ts";
import { createBlobRemoval } from "../../blobs/removal.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { HoltError, notFound, resourceExhausted, unavailable } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { Lru } from "../../lib/lru.ts";
import { type CachedFeed, FeedCache } from "./feed-cache.ts";
import { type Rendered, renderSet } from "./feed-entries.ts";
import type { StoredFile } from "./feed-files.ts";
import type { FeedFormat } from "./feed-format.ts";
import { contextOf, loadRendering, type MakerContext, makeFeed } from "./feed-maker.ts";
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
/** After a longer build, the feed is not rebuilt for `COOLDOWN_FACTOR` times the duration of the build. */
const LONG_MS = 1000;
const COOLDOWN_FACTOR = 9;
/** After any build, anonymous callers do not cause another one for this long. */
const ANONYMOUS_COOLDOWN_MS = 5000;
/** Feeds in the build queue. They are built one after another. */
const MAX_WAITING = 32;

/** Why a feed is not built again for a while. It is over at once if the clock is set back. */
interface Cooldown {
  /** The end of the build. */
  readonly began: number;
  /** Duration for authenticated callers. */
  readonly authenticatedMs: number;
  /** The same for anonymous callers. */
  readonly anonymousMs: number;
  /** Whether the build failed. After a build that succeeded, a feed that was lost is built again at once. */
  readonly hasFailed: boolean;
}

export function createFeeds({ store, blobs, blobReferences: references, dataDir, clock, log, baseUrl }: FeedsOptions): Feeds {
  const removal = createBlobRemoval({ store, blobs, references });
  const cache = new FeedCache({ store, blobs, removal, clock, scratch: join(dataDir, "feeds") });
  const db = store.reader;
  const builds = new Map<string, Promise<CachedFeed>>();
  const compressions = new Map<string, Promise<StoredFile>>();
  const cooldowns = new Lru<string, Cooldown>(10_000);
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  const assertNotClosing = () => {
    if (isClosed) throw unavailable("the server is shutting down");
  };
  const context: MakerContext = { db, cache, baseUrl, now: () => clock.now(), assertNotClosing };

  async function findCurrent(group: string, format: FeedFormat, isAnonymous: boolean): Promise<CachedFeed> {
    const feedContext = contextOf(await loadRendering(context, group));
    const cached = await cache.read(group, format.name);
    const { token } = await readChangeToken(db, group, format);
    if (cached?.token === token && cached.context === feedContext) return cached;
    const key = `${group} ${format.name}`;
    const cooldown = cooldowns.get(key);
    const isOver = cooldown === undefined || hasEnded(cooldown, isAnonymous, clock.now());
    const isLost = cached === undefined && cooldown?.hasFailed === false;
    if (isOver || isLost || builds.has(key)) return waitForBuild(builds.get(key) ?? enqueue(key, group, format), cached);
    // A build may have ended since the cache was read.
    return (await cache.read(group, format.name)) ?? throwStillBuilding();
  }

  function enqueue(key: string, group: string, format: FeedFormat): Promise<CachedFeed> {
    if (builds.size >= MAX_WAITING) throw resourceExhausted("too many feeds are being built; try again shortly", 5);
    const made = last.then(() => make(key, group, format)).finally(() => builds.delete(key));
    builds.set(key, made);
    last = made.catch((error: unknown) => {
      if (!(error instanceof HoltError)) log.error({ err: error, group, format: format.name }, "building a feed failed");
    });
    return made;
  }

  async function make(key: string, group: string, format: FeedFormat): Promise<CachedFeed> {
    const started = clock.now().getTime();
    const elapsedMs = () => clock.now().getTime() - started;
    let hasFailed = true;
    try {
      const feed = await makeFeed(context, group, format);
      log.info({ group, format: format.name, entries: feed.entries, ms: elapsedMs() }, "built a feed");
      hasFailed = false;
      return feed;
    } finally {
      const authenticatedMs = elapsedMs() < LONG_MS ? 0 : COOLDOWN_FACTOR * elapsedMs();
      const anonymousMs = Math.max(authenticatedMs, ANONYMOUS_COOLDOWN_MS);
      cooldowns.set(key, { began: clock.now().getTime(), authenticatedMs, anonymousMs, hasFailed });
      last = last.then(sweep);
    }
  }

  async function sweep(): Promise<void> {
    if (!isClosed) await cache.sweep().catch((error: unknown) => log.warn({ err: error }, "removing old feeds failed"));
  }

  return {
    async assertGroup(group) {
      await loadRendering(context, group);
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
      const rendering = await loadRendering(context, group);
      const [set = []] = await findSiblingsByKey(db, group, format.sibling, [advisoryId]);
      const rendered = await renderSet(db, format, set, rendering);
      if (rendered === undefined) throw notFound("Advisory", advisoryId);
      return rendered;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await last;
      await Promise.allSettled(compressions.values());
    },
  };
}

function hasEnded({ began, authenticatedMs, anonymousMs }: Cooldown, isAnonymous: boolean, now: Date): boolean {
  const elapsedMs = now.getTime() - began;
  return elapsedMs < 0 || elapsedMs >= (isAnonymous ? anonymousMs : authenticatedMs);
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
