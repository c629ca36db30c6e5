/** What a report says of an advisory: its aliases, and how severe public databases say that they are. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";

const CHUNK = 1000;
/** What nothing is known of has one severity, of no type. */
const UNKNOWN = '{"type":"TYPE_UNSPECIFIED","score":""}';

/** @returns of advisories that are one in a report, what comes after their id, as JSON text */
export async function describeAdvisories(
  reported: readonly (readonly [id: string, uids: ReadonlySet<string>])[],
  db: ReadDb,
): Promise<(uids: Iterable<string>) => string> {
  const aliases = await readAliases([...new Set(reported.flatMap(([, uids]) => [...uids]))], db);
  const severities = await readSeverities([...new Set([...aliases.values()].flat())], db);
  return (uids) => {
    const all = [...new Set([...uids].flatMap((uid) => aliases.get(uid) ?? []))].sort();
    const known = [...new Set(all.flatMap((alias) => severities.get(alias) ?? []))];
    return `"aliases":${JSON.stringify(all)},"cvssSeverities":[${(known.length === 0 ? [UNKNOWN] : known).join(",")}]`;
  };
}

async function readAliases(uids: readonly string[], db: ReadDb): Promise<ReadonlyMap<string, string[]>> {
  const aliases = new Map<string, string[]>();
  for (let start = 0; start < uids.length; start += CHUNK) {
    const { rows } = await sql<{ uid: string; alias: string }>`
      select l.advisory_uid as uid, l.alias from ${db.dialect.valuesOf(uids.slice(start, start + CHUNK))} as v
      join advisory_alias as l on l.advisory_uid = v.value`.execute(db);
    for (const { uid, alias } of rows) aliases.set(uid, [...(aliases.get(uid) ?? []), alias]);
  }
  return aliases;
}

/** Each severity as JSON text. */
async function readSeverities(aliases: readonly string[], db: ReadDb): Promise<ReadonlyMap<string, string[]>> {
  const severities = new Map<string, string[]>();
  for (let start = 0; start < aliases.length; start += CHUNK) {
    const { rows } = await sql<{ id: string; severities: string }>`
      select u.id, u.severities from ${db.dialect.valuesOf(aliases.slice(start, start + CHUNK))} as v
      join vulnerability as u on u.id = v.value`.execute(db);
    for (const row of rows)
      severities.set(
        row.id,
        (JSON.parse(row.severities) as object[]).map((severity) => JSON.stringify(severity)),
      );
  }
  return severities;
}
