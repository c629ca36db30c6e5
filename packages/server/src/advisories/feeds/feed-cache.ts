/**
 * Caches built feeds: their state in the database, their files in the blob store. So any server can send a feed that
 * another one built. Everything in the cache can be built again.
 */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { BlobRemoval } from "../../blobs/removal.ts";
import type { WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { unavailable } from "../../lib/errors.ts";
import { Lru } from "../../lib/lru.ts";
import type { BuiltFeed, FeedFiles } from "./feed-build.ts";
import { type FeedFilesOptions, gzipFeedFile, type StoredFile, sweepScratch, withFeedFiles, writeFeedFiles } from "./feed-files.ts";

/** A cached feed. It is stored as JSON. */
export interface CachedFeed {
  readonly group: string;
  readonly format: string;
  /** Identifies the state of the data that the feed contains; see `readChangeToken`. */
  readonly token: string;
  /** Identifies everything else that the feed depends on; see `contextOf`. */
  readonly context: string;
  /** When the build began, RFC 3339. Later changes may be missing. */
  readonly built: string;
  /** SHA-256 of the feed, base64url. */
  readonly sum: string;
  readonly size: number;
  readonly entries: number;
  readonly advisories: number;
  readonly lastModified: string;
  /** Names the build of the files. */
  readonly build: string;
  readonly data: StoredFile;
  readonly index: StoredFile;
}

interface NewFile {
  readonly build: string;
  readonly part: "data" | "index" | "gzip";
  readonly group: string;
  readonly file: StoredFile;
}

/** The files of one build in the blob store. */
export interface StoredBuild extends Pick<CachedFeed, "build" | "data" | "index"> {
  readonly made: BuiltFeed;
}

export interface FeedCacheOptions extends FeedFilesOptions {
  readonly removal: BlobRemoval;
  readonly clock: Clock;
  /** Limit of all files together. Beyond it, the feeds that were requested longest ago are removed. */
  readonly maxBytes?: number;
}

const MAX_BYTES = 8 * 1024 ** 3;
/** How long the files of a build stay that is not current: for readers, and for the server that has just stored them. */
const KEEP_MS = 300_000;
/** A feed's last request is recorded at most this often. */
const TOUCH_MS = 60_000;

export class FeedCache {
  readonly #options: FeedCacheOptions;
  /** When this server last recorded a request, as a value of Date.now(). */
  readonly #touched = new Lru<string, number>(10_000);

  constructor(options: FeedCacheOptions) {
    this.#options = options;
  }

  /** Undefined if there is no valid feed. */
  async read(group: string, format: string): Promise<CachedFeed | undefined> {
    const { store, blobs } = this.#options;
    const row = await store.reader
      .selectFrom("feed")
      .select("body")
      .where("group_uid", "=", group)
      .where("format", "=", format)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const feed = JSON.parse(row.body) as CachedFeed;
    return (await blobs.hasLost(feed.data.digest, feed.data.size)) ? undefined : feed;
  }

  /** Records a request for the feed. */
  async touch({ group, format }: CachedFeed): Promise<void> {
    const key = `${group} ${format}`;
    const now = this.#options.clock.now();
    if (now.getTime() - (this.#touched.get(key) ?? 0) < TOUCH_MS) return;
    this.#touched.set(key, now.getTime());
    const row = { use_time: now.toISOString() };
    await this.#options.store.transaction((db) =>
      db.updateTable("feed").set(row).where("group_uid", "=", group).where("format", "=", format).execute(),
    );
  }

  /** Calls `work` with the feed's files. Undefined, without calling it, if they no longer exist. */
  withFiles<T>(feed: CachedFeed, work: (files: FeedFiles) => Promise<T>): Promise<T | undefined> {
    return withFeedFiles(this.#options, feed, work);
  }

  /** Stores the files of a build, unless `work` returns undefined. `put` makes the build current. */
  async write(group: string, work: (files: FeedFiles) => Promise<BuiltFeed | undefined>): Promise<StoredBuild | undefined> {
    const build = randomUUID();
    const append = (db: WriteDb, part: "data" | "index", file: StoredFile) => this.#appendFile(db, { build, part, group, file });
    const stored = await writeFeedFiles(this.#options, work, append);
    return stored && { ...stored, build };
  }

  /** Makes the feed the current one. @throws UNAVAILABLE if its files were removed */
  async put(feed: CachedFeed): Promise<void> {
    const { store, clock } = this.#options;
    const { group, format, build } = feed;
    const keepTime = this.#keepTime();
    await store.transaction(async (db) => {
      // The lock keeps the files from being removed before they are current.
      const { numUpdatedRows } = await db
        .updateTable("feed_file")
        .set({ keep_time: keepTime })
        .where("build", "=", build)
        .where("part", "in", ["data", "index"])
        .executeTakeFirstOrThrow();
      if (numUpdatedRows !== 2n) throw unavailable("the feed was removed while it was built; try again");
      const before = db.selectFrom("feed").select("build").where("group_uid", "=", group).where("format", "=", format);
      await db.updateTable("feed_file").set({ keep_time: keepTime }).where("build", "in", before).execute();
      const row = { build, body: JSON.stringify(feed), use_time: clock.now().toISOString() };
      await db
        .insertInto("feed")
        .values({ group_uid: group, format, ...row })
        .onConflict((conflict) => conflict.columns(["group_uid", "format"]).doUpdateSet(row))
        .execute();
    });
  }

  /** Removes a feed whose files are lost. */
  async forget({ build }: Pick<CachedFeed, "build">): Promise<void> {
    await this.#options.store.transaction((db) => db.deleteFrom("feed").where("build", "=", build).execute());
  }

  /** The file of the feed, compressed. It is made on the first request. */
  async gzip({ group, build, data }: Pick<CachedFeed, "group" | "build" | "data">): Promise<StoredFile> {
    const { store, blobs } = this.#options;
    const present = await store.reader
      .selectFrom("feed_file")
      .select(["digest", "size"])
      .where("build", "=", build)
      .where("part", "=", "gzip")
      .executeTakeFirst();
    if (present !== undefined && !(await blobs.hasLost(present.digest, present.size))) return present;
    return gzipFeedFile(this.#options, data, (db, file) => this.#appendFile(db, { build, part: "gzip", group, file }));
  }

  /**
   * Removes the files of builds that are no longer current, and the feeds that were requested longest ago beyond the size
   * limit.
   */
  async sweep(): Promise<void> {
    await this.#evict();
    const { store, removal, clock } = this.#options;
    const isCurrent = sql<boolean>`exists (select 1 from feed where feed.build = feed_file.build)`;
    const files = await store.transaction((db) =>
      db
        .deleteFrom("feed_file")
        .where("keep_time", "<", clock.now().toISOString())
        .where(sql<boolean>`not ${isCurrent}`)
        .returning("digest")
        .execute(),
    );
    if (files.length > 0) await removal.removeUnlinked([...new Set(files.map(({ digest }) => digest))]);
    await sweepScratch(this.#options);
  }

  async #evict(): Promise<void> {
    const { store, maxBytes = MAX_BYTES } = this.#options;
    const feeds = await store.reader
      .selectFrom("feed")
      .innerJoin("feed_file", "feed_file.build", "feed.build")
      .select(({ fn }) => ["feed.build as build", fn.sum<number>("feed_file.size").as("size")])
      .groupBy(["feed.build", "feed.use_time"])
      .orderBy("feed.use_time", "desc")
      .orderBy("feed.build")
      .execute();
    const evicted: string[] = [];
    let total = 0;
    for (const { build, size } of feeds) {
      total += Number(size);
      if (total > maxBytes) evicted.push(build);
    }
    if (evicted.length === 0) return;
    await store.transaction(async (db) => {
      const builds = () => db.selectFrom(db.dialect.valuesOf(evicted).as("v")).select("v.value");
      await db.deleteFrom("feed").where("build", "in", builds()).execute();
      await db.updateTable("feed_file").set({ keep_time: "" }).where("build", "in", builds()).execute();
    });
  }

  /** A row that another server wrote stays: it refers to an equal file. */
  async #appendFile(db: WriteDb, { build, part, group, file }: NewFile): Promise<void> {
    await db
      .insertInto("feed_file")
      .values({ build, part, group_uid: group, ...file, keep_time: this.#keepTime() })
      .onConflict((conflict) => conflict.columns(["build", "part"]).doNothing())
      .execute();
  }

  #keepTime(): string {
    return new Date(this.#options.clock.now().getTime() + KEEP_MS).toISOString();
  }
}
