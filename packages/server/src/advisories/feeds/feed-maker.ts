/** Makes one feed and puts it into the cache: from the one before it where that is possible. */
import { createHash } from "node:crypto";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { type BuildParts, type Built, buildChanged, buildWhole, renderChanges } from "./feed-build.ts";
import type { CachedFeed, FeedCache } from "./feed-cache.ts";
import type { Frameless } from "./feed-entries.ts";
import type { FeedFormat } from "./feed-format.ts";
import { changedSince, changeToken, type FeedGroup, findFeedGroup, liveCount } from "./feed-source.ts";

export interface MakerParts {
  readonly db: ReadDb;
  readonly cache: FeedCache;
  readonly baseUrl: string;
  readonly now: () => Date;
  /** Throws where the server is about to stop. */
  readonly assertGoing: () => void;
}

/** Another number where the same advisories would now be rendered otherwise. */
const RENDERING = 1;
/** More than that are cheaper to render with all the others. */
const MAX_CHANGES = 20_000;
/** Writers give times that were before their commit, and servers' clocks differ: what changed this long before is looked at again. */
const MARGIN_MS = 600_000;

/** What the group's feeds are rendered with. @throws NOT_FOUND */
export async function frameless({ db, baseUrl }: Pick<MakerParts, "db" | "baseUrl">, group: string): Promise<Frameless> {
  const found = await findFeedGroup(db, group);
  if (found === undefined) throw notFound("Group", group);
  const { name, distributions, architectures }: FeedGroup = found;
  return { baseUrl, group, groupName: name, distributions, architectures };
}

/** Something else where anything but the advisories shows otherwise. */
export function contextOf({ distributions, ...rest }: Frameless): string {
  return createHash("sha256")
    .update(JSON.stringify([RENDERING, rest, [...distributions]]))
    .digest("base64url");
}

type Moment = Pick<CachedFeed, "group" | "format" | "token" | "context" | "built">;

export async function makeFeed(parts: MakerParts, group: string, format: FeedFormat): Promise<CachedFeed> {
  const { db, cache, assertGoing } = parts;
  assertGoing();
  const rendering = await frameless(parts, group);
  const built = parts.now().toISOString();
  const { token, version } = await changeToken(db, group, format);
  const moment: Moment = { group, format: format.name, token, context: contextOf(rendering), built };
  const before = await cache.read(group, format.name);
  const build: BuildParts = { db, format, rendering, version, assertGoing };
  const changed = before?.context === moment.context ? await makeOfChanges(build, cache, moment, before) : undefined;
  const feed = changed ?? (await makeWhole(build, cache, moment, before));
  await cache.put(feed, before);
  return feed;
}

async function makeWhole(build: BuildParts, cache: FeedCache, moment: Moment, before: CachedFeed | undefined): Promise<CachedFeed> {
  const { made, names } = await cache.write(moment.group, moment.format, (files) => buildWhole(build, files));
  return feedOf(moment, made, names, before);
}

/** Undefined where too much changed, or where the files are gone or turn out to miss a change. */
async function makeOfChanges(build: BuildParts, cache: FeedCache, moment: Moment, before: CachedFeed): Promise<CachedFeed | undefined> {
  const { db, format } = build;
  const since = new Date(Date.parse(before.built) - MARGIN_MS).toISOString();
  const changed = await changedSince(db, moment.group, since, format, MAX_CHANGES);
  await using previous = changed === undefined ? undefined : await cache.open(before);
  if (changed === undefined || previous === undefined) return undefined;
  const changes = await renderChanges(build, previous, changed);
  if (changes.isNone) return (await isComplete(build, moment, before)) ? { ...before, ...moment } : undefined;
  const { made, names } = await cache.write(moment.group, moment.format, (files) => buildChanged(build, previous, changes, files));
  if (await isComplete(build, moment, made)) return feedOf(moment, made, names, before);
  await cache.discard(moment.group, names);
  return undefined;
}

/** Advisories that went with their group left no trace but their number. Where something changes meanwhile, the next feed will tell. */
async function isComplete(
  { db, format }: BuildParts,
  { group, token }: Moment,
  { advisories }: Pick<Built, "advisories">,
): Promise<boolean> {
  const live = await liveCount(db, group);
  return live === advisories || (await changeToken(db, group, format)).token !== token;
}

function feedOf(
  moment: Moment,
  { newest, ...built }: Built,
  names: Pick<CachedFeed, "data" | "index">,
  before: CachedFeed | undefined,
): CachedFeed {
  if (before !== undefined && before.sum === built.sum) return { ...before, ...moment, ...built, ...names };
  // What is left after a deletion is older than what was there before.
  const isLater = before === undefined ? newest !== "" : newest > before.lastModified;
  return { ...moment, ...built, ...names, lastModified: isLater ? newest : moment.built };
}
