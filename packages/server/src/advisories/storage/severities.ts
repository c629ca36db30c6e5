/**
 * Adds severities to the bodies of advisories when they are read. They come from the public vulnerability records that
 * the aliases name.
 */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";

/** The end of every stored body. */
const NO_SEVERITIES = '"severities":[]}';

interface SeverityRow {
  readonly advisory_uid: string;
  readonly severities: string;
}

/** The bodies in their order, with the severities of all aliases in alias order, without duplicates. One query. */
export async function addSeverities(db: ReadDb, rows: readonly { readonly uid: string; readonly body: string }[]): Promise<string[]> {
  if (rows.length === 0) return [];
  const uids = db.dialect.valuesOf(rows.map(({ uid }) => uid));
  const found = await sql<SeverityRow>`select a.advisory_uid, v.severities from ${uids} as wanted
    cross join advisory_alias a cross join vulnerability v
    where a.advisory_uid = wanted.value and v.id = a.alias and v.severities <> '[]' order by a.advisory_uid, a.alias`.execute(db);
  const severitiesOf = new Map<string, string>();
  for (const { advisory_uid, severities } of found.rows) {
    const known = severitiesOf.get(advisory_uid);
    severitiesOf.set(advisory_uid, known === undefined ? severities : union(known, severities));
  }
  return rows.map(({ uid, body }) => withSeverities(body, severitiesOf.get(uid)));
}

/** The union of two JSON arrays whose elements are in canonical form. */
function union(a: string, b: string): string {
  const texts = [a, b].flatMap((array) => (JSON.parse(array) as unknown[]).map((item) => JSON.stringify(item)));
  return `[${[...new Set(texts)].join(",")}]`;
}

function withSeverities(body: string, severities: string | undefined): string {
  if (severities === undefined) return body;
  if (!body.endsWith(NO_SEVERITIES)) throw new Error("the stored body of an advisory already has severities");
  return `${body.slice(0, -NO_SEVERITIES.length)}"severities":${severities}}`;
}
