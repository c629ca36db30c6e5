/** Reads statements of an organization about components of images and packages, and the packages that they name. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { createBreaks } from "../../jobs/breaks.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";
import { type PublishedAdvisory, publishedAdvisory } from "../export/published-advisory.ts";
import { packageKey } from "../model/package-key.ts";
import { IMAGE_TYPES, isImageType } from "../model/statement-key.ts";
import type { ImageFinding } from "./image-findings.ts";

/** The image that the findings are of. */
export interface StatedImage {
  readonly orgUid: string;
  /** The repo's name, alone and with its folders and organization. */
  readonly names: readonly string[];
}

/** An advisory under its own id or one of its aliases. */
export interface StatementRow {
  readonly uid: string;
  readonly alias: string;
  readonly artifact_type: string;
  readonly artifact_name: string;
  readonly component_type: string;
  readonly component_name: string;
}

const MAX_STATEMENTS = 100_000;
const BODIES_PER_QUERY = 200;
/** Ids of vulnerabilities. */
const IDS_PER_QUERY = 1000;

export function isAboutImage({ artifact_type }: StatementRow): boolean {
  return isImageType(artifact_type);
}

/**
 * Advisories of the organization about the image, and about components of packages, that concern the vulnerabilities.
 * @throws RESOURCE_EXHAUSTED if there are more than MAX_STATEMENTS
 */
export async function readStatements(db: ReadDb, findings: readonly ImageFinding[], image: StatedImage): Promise<StatementRow[]> {
  const pause = createBreaks();
  const ids = [...new Set(findings.flatMap(({ vulnerability, detail }) => [vulnerability, ...detail.aliases]))];
  const all: StatementRow[] = [];
  for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
    for (const row of await readStatementsAbout(db, ids.slice(start, start + IDS_PER_QUERY), image)) all.push(row);
    if (all.length > MAX_STATEMENTS)
      throw resourceExhausted(`more than ${MAX_STATEMENTS} statements concern the image; request one of its platforms`);
    await pause();
  }
  return all.sort((a, b) => compareTexts(a.uid, b.uid));
}

async function readStatementsAbout(db: ReadDb, ids: readonly string[], { orgUid, names }: StatedImage): Promise<readonly StatementRow[]> {
  const imageTypes = sql.join([...IMAGE_TYPES]);
  const values = db.dialect.valuesOf(ids);
  const isOwn = (uid: string) => sql`${sql.ref(uid)} >= ${orgUid} and ${sql.ref(uid)} < ${`${orgUid}0`}`;
  const named = sql`
    select l.advisory_uid as uid, v.value as alias from ${values} as v cross join advisory_alias as l
      where l.alias = v.value and ${isOwn("l.advisory_uid")}
    union select o.uid, v.value as alias from ${values} as v cross join advisory as o
      where o.advisory_id = v.value and o.delete_time is null and ${isOwn("o.uid")}`;
  const isStatement = sql`(a.component_name <> '' or lower(a.artifact_type) in (${imageTypes})) and a.resolutions <> ''
    and (lower(a.artifact_type) not in (${imageTypes}) or a.artifact_name in (select n.value from ${db.dialect.valuesOf(names)} as n))`;
  const { rows } = await sql<StatementRow>`
    select a.uid, n.alias, a.artifact_type, a.artifact_name, a.component_type, a.component_name
    from (${named}) as n cross join advisory as a
    where a.uid = n.uid and a.delete_time is null and ${isStatement} order by a.uid limit ${MAX_STATEMENTS + 1}`.execute(db);
  return rows;
}

/** Reads and parses each advisory once. Those without approved events are left out. */
export async function* readAdvisories(db: ReadDb, uids: readonly string[]): AsyncGenerator<PublishedAdvisory> {
  for (let start = 0; start < uids.length; start += BODIES_PER_QUERY) {
    const wanted = db.dialect.valuesOf(uids.slice(start, start + BODIES_PER_QUERY));
    const { rows } = await sql<{ body: string }>`
      select a.body from ${wanted} as v cross join advisory as a where a.uid = v.value order by a.uid`.execute(db);
    for (const { body } of rows) {
      const advisory = publishedAdvisory(body);
      if (advisory !== undefined) yield advisory;
    }
  }
}

/** A package of the image that an advisory names as its artifact. */
export interface Carrier {
  readonly digest: string;
  readonly key: string;
  readonly type: string;
  readonly version: string;
  readonly distribution: string;
}

export async function readCarriers(
  db: ReadDb,
  rows: readonly StatementRow[],
  { orgUid, findings }: { readonly orgUid: string; readonly findings: readonly ImageFinding[] },
): Promise<Carrier[]> {
  const packages = rows.filter((row) => !isAboutImage(row));
  const keys = [...new Set(packages.map(({ artifact_type, artifact_name }) => packageKey(artifact_type, artifact_name)))];
  if (keys.length === 0) return [];
  const digests = db.dialect.valuesOf([...new Set(findings.map(({ digest }) => digest))]);
  const carried = (column: string) => sql`select i.digest, v.value as key, p.type, p.version, p.distribution
    from ${db.dialect.valuesOf(keys)} as v cross join matched_package as p cross join ${digests} as d cross join matched_image as i
    where ${sql.ref(`p.${column}`)} = v.value and p.org_uid = ${orgUid} and i.digest = d.value and i.org_uid = ${orgUid}
      and exists (select 1 from matched_image_package as l where l.image_id = i.id and l.package_id = p.id)`;
  return (await sql<Carrier>`${carried("match_name")} union ${carried("match_origin")}`.execute(db)).rows;
}
