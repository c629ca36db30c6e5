/** Where packages of findings are in their images, and what is known of the vulnerabilities. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { type Vulnerability, vulnerabilityFrom } from "../export/vulnerability.ts";
import type { ImageFinding } from "./image-findings.ts";

export interface Location {
  readonly purl: string;
  readonly location: string;
}

type Located = Pick<ImageFinding, "digest" | "type" | "name" | "version">;

/** The returned function gives the entries of a package in its manifest. */
export async function readLocations(db: ReadDb, findings: readonly Located[]): Promise<(finding: Located) => readonly Location[]> {
  const unique = new Map(
    findings.map(({ digest, type, name, version }) => [keyOf({ digest, type, name, version }), { digest, type, name, version }]),
  );
  const wanted = db.dialect.rowsOf([...unique.values()], { digest: "text", type: "text", name: "text", version: "text" });
  const { rows } = await sql<Located & Location>`
    select p.digest, p.type, p.name, p.version, p.purl, p.location from ${wanted} as w cross join image_package as p
    where p.digest = w.digest and p.name = w.name and p.type = w.type and p.version = w.version
    order by p.digest, p.name, p.type, p.version, p.architecture, p.location`.execute(db);
  const found = Map.groupBy(rows, keyOf);
  return (finding) => found.get(keyOf(finding)) ?? [];
}

function keyOf({ digest, type, name, version }: Located): string {
  return [digest, type, name, version].join("\0");
}

const RECORDS_PER_QUERY = 1000;

/** The public records of these vulnerabilities, by id. */
export async function readRecords(db: ReadDb, ids: readonly string[]): Promise<ReadonlyMap<string, Vulnerability>> {
  const all = [...new Set(ids)];
  const records = new Map<string, Vulnerability>();
  for (let start = 0; start < all.length; start += RECORDS_PER_QUERY) {
    const wanted = db.selectFrom(db.dialect.valuesOf(all.slice(start, start + RECORDS_PER_QUERY)).as("v")).select("v.value");
    const rows = await db.selectFrom("vulnerability").select(["id", "update_time", "body"]).where("id", "in", wanted).execute();
    for (const { id, update_time, body } of rows) records.set(id, vulnerabilityFrom(id, update_time, body));
  }
  return records;
}
