/** Reads the packages of manifests, and joins equal ones. */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { originVersionOf, parseVerbatimPackageUrl } from "../../lib/package-url.ts";
import { rangeBelow } from "../../lib/uid.ts";
import { packageKey } from "../model/package-key.ts";
import type { MatchedPackageTable } from "../tables.ts";

/** A manifest whose packages are read. */
export interface Scan {
  readonly digest: string;
  readonly distribution: string;
  readonly package_count: number;
}

/** Only of manifests that the organization has. */
export async function readScans(db: ReadDb, orgUid: string, digests: readonly string[]): Promise<Scan[]> {
  const wanted = db.dialect.valuesOf(digests);
  const { lower, upper } = rangeBelow(orgUid);
  const { rows } = await sql<Scan>`select s.digest, s.distribution, s.package_count from ${wanted} as v
    cross join image_scan as s where s.digest = v.value and exists (
      select 1 from manifest as m where m.digest = s.digest and m.repo_uid >= ${lower} and m.repo_uid < ${upper})`.execute(db);
  return rows;
}

/** A package as `matched_package` has it, with the manifests that name it. */
export interface ImagePackage extends Omit<MatchedPackageTable, "id" | "org_uid" | "is_matched"> {
  readonly digests: Set<string>;
}

interface PackageRow {
  readonly digest: string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly origin: string;
  readonly source: string;
  readonly purl: string;
}

/** Other requests run after this many rows. */
const ROWS_PER_TURN = 1000;

/** Each package once, sorted by its columns. */
export async function packagesOfScans(db: ReadDb, scans: readonly Scan[]): Promise<ImagePackage[]> {
  const distributions = new Map(scans.map(({ digest, distribution }) => [digest, distribution]));
  const wanted = db.dialect.valuesOf([...distributions.keys()]);
  const { rows } = await sql<PackageRow>`select p.digest, p.type, p.name, p.version, p.origin, p.source, p.purl from ${wanted} as v
    cross join image_package as p where p.digest = v.value`.execute(db);
  const unique = new Map<string, ImagePackage>();
  for (const [index, { digest, type, name, version, origin, source, purl }] of rows.entries()) {
    if ((index + 1) % ROWS_PER_TURN === 0) await setImmediate();
    const distribution = !isDistributed(type) ? "" : source === "image" ? (distributions.get(digest) ?? "") : distributionOf(purl);
    const key = [type, name, version, origin, distribution].join("\0");
    const known = unique.get(key);
    if (known !== undefined) {
      known.digests.add(digest);
      continue;
    }
    const keys = { match_name: packageKey(type, name), match_origin: packageKey(type, origin) };
    const origin_version = type === "deb" ? versionOfOrigin(purl) : "";
    unique.set(key, { type, name, version, origin, origin_version, distribution, ...keys, digests: new Set([digest]) });
  }
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Empty if it is that of the package. */
function versionOfOrigin(purl: string): string {
  const url = parseVerbatimPackageUrl(purl);
  return url === undefined ? "" : originVersionOf(url);
}

function isDistributed(type: string): boolean {
  return type === "apk" || type === "deb" || type === "rpm";
}

/** `alpine 3.22.1` from the qualifier `alpine-3.22.1`, or else the namespace. */
function distributionOf(purl: string): string {
  const url = parseVerbatimPackageUrl(purl);
  const [, id, version] = /^(.+?)-(\d.*)$/.exec(url?.qualifiers.distro ?? "") ?? [];
  return id === undefined ? (url?.qualifiers.distro ?? url?.namespace ?? "") : `${id} ${version}`;
}
