/** Feeds of advisories on demand: made once for all who ask, kept while nothing changes, and never made so often that others would feel it. */
import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createGzip } from "node:zlib";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { HoltError, notFound, resourceExhausted, unavailable } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { Lru } from "../../lib/lru.ts";
import { type CachedFeed, FeedCache, gzipName } from "./feed-cache.ts";
import { type Rendered, renderSet } from "./feed-entries.ts";
import type { FeedFormat } from "./feed-format.ts";
import { contextOf, frameless, type MakerParts, makeFeed } from "./feed-maker.ts";
import { changeToken, existingGroups, siblingsWith } from "./feed-source.ts";

export interface Feed {
  readonly path: string;
  readonly size: number;
  /** SHA-256 of the feed, base64url. */
  readonly sum: string;
  /** RFC 3339. */
  readonly lastModified: string;
}

export interface Feeds extends AsyncDisposable {
  /** @throws NOT_FOUND where there is no such group */
  assertGroup(group: string): Promise<void>;
  /**
   * The feed as things stand, or, where it is being made for too long or was made a moment ago, as they stood.
   * @param isStranger whether nobody knows who asks: for them, feeds are not made as often
   * @throws NOT_FOUND, UNAVAILABLE, RESOURCE_EXHAUSTED
   */
  feed(group: string, format: FeedFormat, isStranger: boolean): Promise<Feed>;
  /** The same, compressed. */
  gzipped(feed: Feed): Promise<Feed>;
  /** What stands in the feed's archive for an advisory id, as things stand. @throws NOT_FOUND */
  record(group: string, format: FeedFormat, advisoryId: string): Promise<Rendered>;
}

export interface FeedsOptions {
  readonly store: Store;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly baseUrl: string;
}

/** How long a request waits for a feed to be made. */
const WAIT_MS = 20_000;
/** After what took that long, the same feed is not made again for nine times as long. */
const LONG_MS = 1000;
const REST_FACTOR = 9;
/** Nor for strangers for this long, however little it took. */
const STRANGERS_REST_MS = 5000;
/** Feeds that wait to be made, one after the other. */
const MAX_WAITING = 32;
/** How often the folder is tidied, at the latest ... */
const SWEEP_MS = 300_000;
/** ... and after how many bytes of new feeds at once. */
const SWEEP_BYTES = 1024 ** 3;

interface Rest {
  /** Of performance.now(). */
  readonly known: number;
  readonly strangers: number;
}

export function createFeeds({ store, dataDir, clock, log, baseUrl }: FeedsOptions): Feeds {
  const cache = new FeedCache(dataDir);
  const db = store.reader;
  const making = new Map<string, Promise<CachedFeed>>();
  const packing = new Map<string, Promise<void>>();
  const rests = new Lru<string, Rest>(10_000);
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  let swept = Number.NEGATIVE_INFINITY;
  let unsweptBytes = 0;

  const assertGoing = () => {
    if (isClosed) throw unavailable("the server is shutting down");
  };
  const parts: MakerParts = { db, cache, baseUrl, now: () => clock.now(), assertGoing };

  async function current(group: string, format: FeedFormat, isStranger: boolean): Promise<CachedFeed> {
    const context = contextOf(await frameless(parts, group));
    const cached = await cache.read(group, format.name);
    const { token } = await changeToken(db, group, format);
    if (cached?.token === token && cached.context === context) return cached;
    const key = `${group} ${format.name}`;
    const rest = rests.get(key)?.[isStranger ? "strangers" : "known"] ?? 0;
    if (performance.now() >= rest || making.has(key)) return inTime(making.get(key) ?? begin(key, group, format), cached);
    return cached ?? refuse();
  }

  function begin(key: string, group: string, format: FeedFormat): Promise<CachedFeed> {
    if (making.size >= MAX_WAITING) throw resourceExhausted("too many feeds are being made; try again shortly", 5);
    const made = last.then(() => make(key, group, format)).finally(() => making.delete(key));
    making.set(key, made);
    last = made.catch((error: unknown) => {
      if (!(error instanceof HoltError)) log.error({ err: error, group, format: format.name }, "a feed could not be made");
    });
    return made;
  }

  async function make(key: string, group: string, format: FeedFormat): Promise<CachedFeed> {
    const started = performance.now();
    try {
      const feed = await makeFeed(parts, group, format);
      unsweptBytes += feed.size;
      log.info({ group, format: format.name, entries: feed.entries, ms: Math.round(performance.now() - started) }, "made a feed");
      return feed;
    } finally {
      const now = performance.now();
      const known = now - started < LONG_MS ? 0 : now + REST_FACTOR * (now - started);
      rests.set(key, { known, strangers: Math.max(known, now + STRANGERS_REST_MS) });
      last = last.then(sweep);
    }
  }

  async function sweep(): Promise<void> {
    if (isClosed || (performance.now() - swept < SWEEP_MS && unsweptBytes < SWEEP_BYTES)) return;
    swept = performance.now();
    unsweptBytes = 0;
    await cache
      .sweep((groups) => existingGroups(db, groups))
      .catch((error: unknown) => log.warn({ err: error }, "old feeds could not be removed"));
  }

  return {
    async assertGroup(group) {
      await frameless(parts, group);
    },
    async feed(group, format, isStranger) {
      const feed = await current(group, format, isStranger);
      if (feed.entries === 0 && format.layout.kind === "list" && !format.layout.mayBeEmpty)
        throw notFound("Feed", `${group}/${format.file}`);
      await cache.touch(feed);
      return { path: cache.pathOf(feed), size: feed.size, sum: feed.sum, lastModified: feed.lastModified };
    },
    async gzipped(feed) {
      const path = gzipName(feed.path);
      const packed = packing.get(path) ?? packFile(feed.path, path).finally(() => packing.delete(path));
      packing.set(path, packed);
      await packed;
      return { ...feed, path, size: (await stat(path)).size };
    },
    async record(group, format, advisoryId) {
      const rendering = await frameless(parts, group);
      const [set = []] = await siblingsWith(db, group, format.sibling, [advisoryId]);
      const rendered = await renderSet(db, format, set, rendering);
      if (rendered === undefined) throw notFound("Advisory", advisoryId);
      return rendered;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await last;
      await Promise.allSettled(packing.values());
    },
  };
}

/** What was there before is better than to wait for long, and a client that is told when to come back is better than one that hangs. */
async function inTime(made: Promise<CachedFeed>, before: CachedFeed | undefined): Promise<CachedFeed> {
  const tooLate = new AbortController();
  made.catch(() => {});
  try {
    const first = await Promise.race([made, sleep(WAIT_MS, undefined, { signal: tooLate.signal, ref: false })]);
    return first ?? before ?? refuse();
  } finally {
    tooLate.abort();
  }
}

function refuse(): never {
  throw unavailable("the feed is being made, which takes a while; try again shortly");
}

/** Takes its name when it is whole; until then its own, as another server may be packing the same. What a server that was killed leaves, the cache sweeps. */
async function packFile(from: string, to: string): Promise<void> {
  if ((await stat(to).catch(() => undefined)) !== undefined) return;
  const made = `${to}-${randomUUID()}.new`;
  try {
    await pipeline(createReadStream(from), createGzip(), createWriteStream(made, { flags: "wx", mode: 0o600 }));
    await rename(made, to);
  } catch (error) {
    await rm(made, { force: true });
    throw error;
  }
}
