/**
 * Finds the versions of a package in the images of some groups. A package that exists in several versions side by side
 * has one name for each, such as `python-3.12`; each of them is a release line of `python`.
 */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { within } from "../../api/resource/conditions.ts";
import type { ReadDb } from "../../db/store.ts";
import { rangeAtOrBelow } from "../../lib/uid.ts";
import { createComparison } from "../../lib/version-order/compare.ts";

/** Entries of visible images that are searched. A package that is in more images is known from these. */
const MAX_ENTRIES = 20_000;
const MAX_VERSIONS = 2000;
const RELEASES_PER_TURN = 200;

export interface PackageRelease {
  /** `3.12` for a release line; else the version without the distribution's revision. */
  readonly version: string;
  /** The newest version in full, such as `3.12.4-r0`. */
  readonly latest: string;
}

export interface PackageReleases {
  /** The newest first. */
  readonly releases: readonly PackageRelease[];
  /** When the last image with the package was pushed. */
  readonly time: string;
}

/** @param scopes topmost groups; an image counts if a repo below one of them has it */
export async function findReleases(db: ReadDb, name: string, scopes: readonly string[]): Promise<PackageReleases | undefined> {
  const found = await findVersions(db, name, scopes);
  const lines = found.filter((each) => each.name !== name);
  const chosen = (lines.length > 0 ? lines : found).map((each) => ({ ...each, release: releaseOf(each, name) }));
  const [first] = chosen;
  if (first === undefined) return undefined;
  const order = orderOf(first.type);
  const releases = await releasesFrom(chosen, order);
  const time = found.reduce((latest, each) => (each.time > latest ? each.time : latest), "");
  return { releases: releases.sort((a, b) => order(b.version, a.version)), time };
}

/** Reads the versions for the order, some at a time: reading 2000 long ones would keep other requests waiting. */
async function releasesFrom(chosen: readonly ReleasedVersion[], order: Order): Promise<PackageRelease[]> {
  const releases: PackageRelease[] = [];
  for (const [version, builds] of Map.groupBy(chosen, ({ release }) => release)) {
    order(version, version);
    releases.push({ version, latest: latestOf(builds) });
    if (releases.length % RELEASES_PER_TURN === 0) await setImmediate();
  }
  return releases;
}

interface FoundVersion {
  readonly name: string;
  readonly type: string;
  readonly version: string;
  /** When the newest image with it was pushed. */
  readonly time: string;
}

interface ReleasedVersion extends FoundVersion {
  readonly release: string;
}

async function findVersions(db: ReadDb, name: string, scopes: readonly string[]): Promise<FoundVersion[]> {
  // ":" follows the digits in ASCII.
  const named = sql`(p.name = ${name} or (p.name >= ${`${name}-0`} and p.name < ${`${name}-:`}))`;
  const isVisible = within(scopes.map(rangeAtOrBelow), sql.ref("m.repo_uid"), db.dialect);
  // The limit counts visible entries only: the images of other organizations do not change the answer.
  const entries = sql`(select p.digest, p.name, p.type, p.version from image_package as p where ${named}
    and exists (select 1 from manifest as m where m.digest = p.digest and ${isVisible}) limit ${MAX_ENTRIES}) as p`;
  const { rows } = await sql<FoundVersion>`select p.name, p.type, p.version, max(m.create_time) as time
    from ${entries} join manifest as m on m.digest = p.digest where ${isVisible}
    group by p.name, p.type, p.version order by p.name, p.type, p.version limit ${MAX_VERSIONS}`.execute(db);
  return rows.filter((row) => row.name === name || /^\d+(?:\.\d+)*$/.test(row.name.slice(name.length + 1)));
}

function releaseOf({ name, type, version }: FoundVersion, wanted: string): string {
  if (name !== wanted) return name.slice(wanted.length + 1);
  if (type === "apk") return version.replace(/-r\d+$/, "");
  if (type !== "deb" && type !== "rpm") return version;
  return version.replace(/^\d+:/, "").replace(/-[^-]*$/, "");
}

function latestOf(builds: readonly FoundVersion[]): string {
  const order = orderOf(builds[0]?.type ?? "");
  return builds.map(({ version }) => version).reduce((a, b) => (order(a, b) < 0 ? b : a));
}

type Order = (a: string, b: string) => number;

/** Versions that their type cannot compare are compared as those of apk, or else as texts. */
function orderOf(type: string): Order {
  const [ofType, ofApk] = [createComparison(type), createComparison("apk")];
  return (a, b) => ofType(a, b) ?? ofApk(a, b) ?? (a < b ? -1 : a > b ? 1 : 0);
}
