/** Builds feeds one after another. All requests for a feed share one build. */
import type { ReadDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { HoltError, resourceExhausted, unavailable } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { CachedFeed, FeedCache } from "./feed-cache.ts";
import { createFeedCooldowns } from "./feed-cooldowns.ts";
import type { FeedFormat } from "./feed-format.ts";
import { type MakerContext, makeFeed } from "./feed-maker.ts";

export interface FeedBuildsOptions {
  readonly db: ReadDb;
  readonly cache: FeedCache;
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The request that asks for a build. */
export interface BuildReason {
  readonly isAnonymous: boolean;
  /** There is no feed that could be served meanwhile. */
  readonly isLost: boolean;
}

/** Disposing waits for the build that runs; those in the queue fail with UNAVAILABLE. */
export interface FeedBuilds extends AsyncDisposable {
  /**
   * The build of the feed: the one that runs or waits, else a new one.
   * @returns undefined if the feed was built a moment ago
   * @throws RESOURCE_EXHAUSTED if too many feeds wait
   */
  request(group: string, format: FeedFormat, reason: BuildReason): Promise<CachedFeed> | undefined;
}

/** Feeds in the build queue. */
const MAX_WAITING = 32;

export function createFeedBuilds({ db, cache, baseUrl, clock, log }: FeedBuildsOptions): FeedBuilds {
  const builds = new Map<string, Promise<CachedFeed>>();
  const cooldowns = createFeedCooldowns(clock);
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  const assertNotClosing = () => {
    if (isClosed) throw unavailable("the server is shutting down");
  };
  const context: MakerContext = { db, cache, baseUrl, now: () => clock.now(), assertNotClosing };

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
      cooldowns.begin(key, elapsedMs(), hasFailed);
      last = last.then(sweep);
    }
  }

  async function sweep(): Promise<void> {
    if (!isClosed) await cache.sweep().catch((error: unknown) => log.warn({ err: error }, "removing old feeds failed"));
  }

  return {
    request(group, format, { isAnonymous, isLost }) {
      const key = `${group} ${format.name}`;
      return builds.get(key) ?? (cooldowns.mayBuild(key, isAnonymous, isLost) ? enqueue(key, group, format) : undefined);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await last;
    },
  };
}
