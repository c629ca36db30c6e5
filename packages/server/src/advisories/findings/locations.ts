/** Where packages of findings are in their images, and what is known of the vulnerabilities. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { createBreaks } from "../../jobs/breaks.ts";
import { type Vulnerability, vulnerabilityFrom } from "../export/vulnerability.ts";
import type { ImageFinding } from "./image-findings.ts";

/** Where a package is in its manifest, without duplicates. */
export interface PackageLocations {
  readonly purls: readonly string[];
  readonly locations: readonly string[];
  /** UTF-8 bytes of all of them. */
  readonly bytes: number;
}

interface Entry {
  readonly purl: string;
  readonly location: string;
}

type Located = Pick<ImageFinding, "digest" | "type" | "name" | "version">;

/** Entries of a package in a manifest that are read. */
const MAX_ENTRIES = 100;
const PACKAGES_PER_QUERY = 200;
const NOWHERE: PackageLocations = { purls: [], locations: [], bytes: 0 };

/**
 * The returned function gives the first entries of a package in its manifest.
 * @param charge called with the bytes of each package. May throw
 */
export async function readLocations(
  db: ReadDb,
  findings: readonly Located[],
  charge: (bytes: number) => void = () => {},
): Promise<(finding: Located) => PackageLocations> {
  const wanted = [...new Map(findings.map((finding) => [keyOf(finding), finding])).values()];
  const found = new Map<string, PackageLocations>();
  const pause = createBreaks();
  for (let start = 0; start < wanted.length; start += PACKAGES_PER_QUERY) {
    const rows = await readEntries(db, wanted.slice(start, start + PACKAGES_PER_QUERY));
    for (const [key, entries] of Map.groupBy(rows, keyOf)) {
      const locations = locationsFrom(entries);
      charge(locations.bytes);
      found.set(key, locations);
    }
    await pause();
  }
  return (finding) => found.get(keyOf(finding)) ?? NOWHERE;
}

async function readEntries(db: ReadDb, packages: readonly Located[]): Promise<readonly (Located & Entry)[]> {
  const keys = packages.map(({ digest, type, name, version }) => ({ digest, type, name, version }));
  const wanted = db.dialect.rowsOf(keys, { digest: "text", type: "text", name: "text", version: "text" });
  const { rows } = await sql<Located & Entry>`
    select e.digest, e.type, e.name, e.version, e.purl, e.location from (
      select p.digest, p.type, p.name, p.version, p.architecture, p.purl, p.location, row_number() over (
        partition by p.digest, p.name, p.type, p.version order by p.architecture, p.location) as entry
      from ${wanted} as w cross join image_package as p
      where p.digest = w.digest and p.name = w.name and p.type = w.type and p.version = w.version) as e
    where e.entry <= ${MAX_ENTRIES} order by e.digest, e.name, e.type, e.version, e.entry`.execute(db);
  return rows;
}

function locationsFrom(entries: readonly Entry[]): PackageLocations {
  const purls = [...new Set(entries.map(({ purl }) => purl))];
  const locations = [...new Set(entries.map(({ location }) => location))];
  return { purls, locations, bytes: Buffer.byteLength([...purls, ...locations].join("")) };
}

function keyOf({ digest, type, name, version }: Located): string {
  return [digest, type, name, version].join("\0");
}

const RECORDS_PER_QUERY = 200;

export interface VulnerabilityRecord extends Vulnerability {
  /** UTF-8 bytes of the stored record. */
  readonly bytes: number;
}

/**
 * The public records of these vulnerabilities, by id.
 * @param charge called with the bytes of each record. May throw
 */
export async function readRecords(
  db: ReadDb,
  ids: readonly string[],
  charge: (bytes: number) => void,
): Promise<ReadonlyMap<string, VulnerabilityRecord>> {
  const all = [...new Set(ids)];
  const records = new Map<string, VulnerabilityRecord>();
  const pause = createBreaks();
  for (let start = 0; start < all.length; start += RECORDS_PER_QUERY) {
    const wanted = db.selectFrom(db.dialect.valuesOf(all.slice(start, start + RECORDS_PER_QUERY)).as("v")).select("v.value");
    const rows = await db.selectFrom("vulnerability").select(["id", "update_time", "body"]).where("id", "in", wanted).execute();
    for (const { id, update_time, body } of rows) {
      const bytes = Buffer.byteLength(body);
      charge(bytes);
      records.set(id, { ...vulnerabilityFrom(id, update_time, body), bytes });
    }
    await pause();
  }
  return records;
}
