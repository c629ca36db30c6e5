/** Builds one feed and puts it into the cache. It starts from the cached feed if possible. */
import { createHash } from "node:crypto";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { type BuildContext, type BuiltFeed, buildChanged, buildWhole, renderChanges } from "./feed-build.ts";
import type { CachedFeed, FeedCache, StoredBuild } from "./feed-cache.ts";
import type { FeedRendering } from "./feed-entries.ts";
import type { FeedFormat } from "./feed-format.ts";
import { countLive, type FeedGroup, findChanges, findFeedGroup, readChangeToken } from "./feed-source.ts";

export interface MakerContext {
  readonly db: ReadDb;
  readonly cache: FeedCache;
  readonly baseUrl: string;
  readonly now: () => Date;
  /** Throws if the server is shutting down. */
  readonly assertNotClosing: () => void;
}

/** Change this number when the same advisories are rendered differently, so that cached feeds are rebuilt. */
const RENDERING_VERSION = 2;
/** With more changed advisories, building the whole feed is cheaper. */
const MAX_CHANGES = 20_000;
/**
 * Change times precede the commit, and the clocks of servers differ. Changes this long before the last build are
 * rendered again.
 */
const MARGIN_MS = 600_000;

/** Loads what the group's feeds depend on, except for advisories and vulnerabilities. @throws NOT_FOUND */
export async function loadRendering({ db, baseUrl }: Pick<MakerContext, "db" | "baseUrl">, group: string): Promise<FeedRendering> {
  const found = await findFeedGroup(db, group);
  if (found === undefined) throw notFound("Group", group);
  const { name, distributions, architectures }: FeedGroup = found;
  return { baseUrl, group, groupName: name, distributions, architectures };
}

/** A hash of everything that a feed depends on, except for advisories and vulnerabilities. */
export function contextOf({ distributions, ...rest }: FeedRendering): string {
  return createHash("sha256")
    .update(JSON.stringify([RENDERING_VERSION, rest, [...distributions]]))
    .digest("base64url");
}

/** Identifies the feed that is being built and the state of the data when the build began. */
type BuildStart = Pick<CachedFeed, "group" | "format" | "token" | "context" | "built">;

/** Returns the cached feed if it is current, as another request may have had it built in the meantime. */
export async function makeFeed(context: MakerContext, group: string, format: FeedFormat): Promise<CachedFeed> {
  const { db, cache, assertNotClosing } = context;
  assertNotClosing();
  const rendering = await loadRendering(context, group);
  const built = context.now().toISOString();
  const { token, version } = await readChangeToken(db, group, format);
  const start: BuildStart = { group, format: format.name, token, context: contextOf(rendering), built };
  const before = await cache.read(group, format.name);
  if (before?.token === token && before.context === start.context) return before;
  const build: BuildContext = { db, format, rendering, version, assertNotClosing };
  const changed = before?.context === start.context ? await makeFromChanges(build, cache, start, before) : undefined;
  const feed = changed ?? (await makeWhole(build, cache, start, before));
  await cache.put(feed);
  return feed;
}

async function makeWhole(build: BuildContext, cache: FeedCache, start: BuildStart, before: CachedFeed | undefined): Promise<CachedFeed> {
  const stored = await cache.write(start.group, (files) => buildWhole(build, files));
  return feedOf(start, stored as StoredBuild, before);
}

/** Undefined if too much changed, if the cached files no longer exist, or if the result would miss a change. */
async function makeFromChanges(
  build: BuildContext,
  cache: FeedCache,
  start: BuildStart,
  before: CachedFeed,
): Promise<CachedFeed | undefined> {
  const { db, format } = build;
  const since = new Date(Date.parse(before.built) - MARGIN_MS).toISOString();
  const changed = await findChanges(db, { group: start.group, since, format, limit: MAX_CHANGES });
  if (changed === undefined) return undefined;
  return cache.withFiles(before, async (previous) => {
    const changes = await renderChanges(build, previous, changed);
    if (changes.isEmpty) return (await isComplete(build, start, before)) ? { ...before, ...start } : undefined;
    const stored = await cache.write(start.group, async (files) => {
      const made = await buildChanged(build, previous, changes, files);
      return (await isComplete(build, start, made)) ? made : undefined;
    });
    return stored && feedOf(start, stored, before);
  });
}

/**
 * Compares the number of advisories, as those deleted with their group leave no other trace. A change in the meantime
 * will be found by the next build.
 */
async function isComplete(
  { db, format }: BuildContext,
  { group, token }: BuildStart,
  { advisories }: Pick<BuiltFeed, "advisories">,
): Promise<boolean> {
  const live = await countLive(db, group);
  return live === advisories || (await readChangeToken(db, group, format)).token !== token;
}

function feedOf(start: BuildStart, { made: { newest, ...built }, ...files }: StoredBuild, before: CachedFeed | undefined): CachedFeed {
  if (before !== undefined && before.sum === built.sum) return { ...before, ...start, ...built, ...files };
  // After a deletion, the latest remaining change may be older than the previous one.
  const isLater = before === undefined ? newest !== "" : newest > before.lastModified;
  return { ...start, ...built, ...files, lastModified: isLater ? newest : start.built };
}
