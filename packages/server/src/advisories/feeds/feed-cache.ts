/**
 * Caches built feeds in a folder. Everything in it can be built again. Servers that share a data folder share the
 * cache.
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256Hex } from "../../lib/sha256.ts";
import type { FeedFiles } from "./feed-build.ts";

/** A cached feed. It is stored as a JSON file next to the feed's files. */
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
  /** File names. */
  readonly data: string;
  readonly index: string;
}

type FileNames = Pick<CachedFeed, "data" | "index">;

/** Limit of all files together. Beyond it, the feeds that were requested longest ago are removed. */
const MAX_BYTES = 8 * 1024 ** 3;
/** Age at which a file without a feed is removed, such as one of a server that was killed. */
const STALE_MS = 3_600_000;
/** A feed's last request is recorded at most this often. */
const TOUCH_MS = 60_000;

export class FeedCache {
  readonly #root: string;
  readonly #maxBytes: number;
  readonly #touched = new Map<string, number>();

  constructor(dataDir: string, maxBytes = MAX_BYTES) {
    this.#root = join(dataDir, "feeds");
    this.#maxBytes = maxBytes;
  }

  /** Undefined if there is no valid feed. */
  async read(group: string, format: string): Promise<CachedFeed | undefined> {
    const feed = await readState(join(this.#folder(group), `${format}.json`));
    if (feed?.group !== group || feed.format !== format) return undefined;
    const found = await stat(this.pathOf(feed)).catch(() => undefined);
    return found?.size === feed.size ? feed : undefined;
  }

  pathOf(feed: CachedFeed, name = feed.data): string {
    return join(this.#folder(feed.group), name);
  }

  /** Records a request for the feed. */
  async touch({ group, format }: CachedFeed): Promise<void> {
    const path = join(this.#folder(group), `${format}.json`);
    const now = Date.now();
    if (now - (this.#touched.get(path) ?? 0) < TOUCH_MS) return;
    if (this.#touched.size > 10_000) this.#touched.clear();
    this.#touched.set(path, now);
    await utimes(path, now / 1000, now / 1000).catch(() => {});
  }

  /** Opens the feed's files, which the caller closes. Undefined if they no longer exist. */
  async open(feed: CachedFeed): Promise<(FeedFiles & AsyncDisposable) | undefined> {
    try {
      const data = await open(this.pathOf(feed), "r");
      const index = await open(this.pathOf(feed, feed.index), "r").catch(async (error) => {
        await data.close();
        throw error;
      });
      return disposable(data, index);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /**
   * Creates the two files of a feed. The caller passes their names to `put` or `discard`. If `work` fails, they are
   * removed.
   */
  async write<T>(
    group: string,
    format: string,
    work: (files: FeedFiles) => Promise<T>,
  ): Promise<{ readonly made: T; readonly names: FileNames }> {
    const folder = this.#folder(group);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = `${format}-${randomUUID()}`;
    const names = { data: `${name}.data`, index: `${name}.index` };
    try {
      await using data = await open(join(folder, names.data), "wx+", 0o600);
      await using index = await open(join(folder, names.index), "wx+", 0o600);
      return { made: await work({ data, index }), names };
    } catch (error) {
      await this.discard(group, names);
      throw error;
    }
  }

  async discard(group: string, { data, index }: FileNames): Promise<void> {
    for (const name of [data, index]) await rm(join(this.#folder(group), name), { force: true });
  }

  /**
   * Replaces the previous feed and removes its files, unless they are the same. Readers that have them open are not
   * affected.
   */
  async put(feed: CachedFeed, before: CachedFeed | undefined): Promise<void> {
    const folder = this.#folder(feed.group);
    const made = join(folder, `${feed.format}-${randomUUID()}.new`);
    await writeFile(made, JSON.stringify(feed), { mode: 0o600 });
    await rename(made, join(folder, `${feed.format}.json`));
    if (before === undefined || before.data === feed.data) return;
    for (const name of [before.data, before.index, gzipName(before.data)]) await rm(join(folder, name), { force: true });
  }

  /**
   * Removes feeds of deleted groups, files without a feed, and the least recently requested feeds beyond the size
   * limit.
   * @param findExisting returns those of these groups that exist
   */
  async sweep(findExisting: (groups: readonly string[]) => Promise<ReadonlySet<string>>): Promise<void> {
    const kept: { path: string; names: readonly string[]; size: number; used: number }[] = [];
    for (const name of await readdir(this.#root).catch(() => [])) {
      const folder = join(this.#root, name);
      const feeds = await this.#feedsIn(folder);
      const groups = [...new Set(feeds.map(({ group }) => group))];
      const existing = await findExisting(groups);
      const alive = feeds.filter(({ group }) => existing.has(group));
      const wanted = new Set(alive.flatMap((feed) => [`${feed.format}.json`, feed.data, feed.index, gzipName(feed.data)]));
      await removeUnwanted(folder, wanted, feeds.length > 0 && alive.length === 0);
      for (const feed of alive) {
        const state = await stat(join(folder, `${feed.format}.json`)).catch(() => undefined);
        const names = [`${feed.format}.json`, feed.data, feed.index, gzipName(feed.data)];
        if (state !== undefined) kept.push({ path: folder, names, size: await sizeOf(folder, names), used: state.mtimeMs });
      }
    }
    let total = kept.reduce((sum, { size }) => sum + size, 0);
    for (const { path, names, size } of kept.sort((a, b) => a.used - b.used)) {
      if (total <= this.#maxBytes) return;
      for (const name of names) await rm(join(path, name), { force: true });
      total -= size;
    }
  }

  async #feedsIn(folder: string): Promise<readonly CachedFeed[]> {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
    const feeds = await Promise.all(names.map((name) => readState(join(folder, name))));
    return feeds.filter((feed) => feed !== undefined);
  }

  #folder(group: string): string {
    return join(this.#root, sha256Hex(group).slice(0, 40));
  }
}

/** Name of the gzip-compressed copy, which is made on request. */
export function gzipName(data: string): string {
  return `${data}.gz`;
}

function disposable(data: FeedFiles["data"], index: FeedFiles["index"]): FeedFiles & AsyncDisposable {
  return {
    data,
    index,
    async [Symbol.asyncDispose]() {
      await data.close();
      await index.close();
    },
  };
}

async function readState(path: string): Promise<CachedFeed | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as CachedFeed;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function removeUnwanted(folder: string, wanted: ReadonlySet<string>, isFolderUnused: boolean): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (wanted.has(name)) continue;
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (isFolderUnused || (found !== undefined && Date.now() - found.mtimeMs > STALE_MS)) await rm(join(folder, name), { force: true });
  }
  if (isFolderUnused) await rm(folder, { recursive: true, force: true });
}

async function sizeOf(folder: string, names: readonly string[]): Promise<number> {
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
