/** What a report says of an advisory: its aliases, and how severe public databases say that they are. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";

const CHUNK = 1000;
/** What nothing is known of has one severity, of no type. */
const UNKNOWN = '{"type":"TYPE_UNSPECIFIED","score":""}';

/** @returns what a report says of advisories, in the order of their ids, as JSON text: those of one id are one */
export async function describeAdvisories(
  reported: Iterable<ReadonlySet<string>>,
  db: ReadDb,
): Promise<(uids: ReadonlySet<string>) => string> {
  const uids = new Set<string>();
  for (const ofReport of reported) for (const uid of ofReport) uids.add(uid);
  const ids = await readIds([...uids], db);
  const aliases = await readAliases([...uids], db);
  const severities = await readSeverities([...new Set([...aliases.values()].flat())], db);
  return (ofReport) => {
    const byId = Map.groupBy(ofReport, (uid) => ids.get(uid) ?? "");
    const texts = [...byId]
      .sort(([a], [b]) => compareTexts(a, b))
      .map(([id, same]) => {
        const all = [...new Set(same.flatMap((uid) => aliases.get(uid) ?? []))].sort();
        const known = [...new Set(all.flatMap((alias) => severities.get(alias) ?? []))];
        const scores = known.length === 0 ? [UNKNOWN] : known;
        return `{"id":${JSON.stringify(id)},"aliases":${JSON.stringify(all)},"cvssSeverities":[${scores.join(",")}]}`;
      });
    return texts.join(",");
  };
}

async function readIds(uids: readonly string[], db: ReadDb): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  for (let start = 0; start < uids.length; start += CHUNK) {
    const { rows } = await sql<{ uid: string; advisory_id: string }>`
      select a.uid, a.advisory_id from ${db.dialect.valuesOf(uids.slice(start, start + CHUNK))} as v
      join advisory as a on a.uid = v.value`.execute(db);
    for (const { uid, advisory_id } of rows) ids.set(uid, advisory_id);
  }
  return ids;
}

async function readAliases(uids: readonly string[], db: ReadDb): Promise<ReadonlyMap<string, string[]>> {
  const aliases = new Map<string, string[]>();
  for (let start = 0; start < uids.length; start += CHUNK) {
    const { rows } = await sql<{ uid: string; alias: string }>`
      select l.advisory_uid as uid, l.alias from ${db.dialect.valuesOf(uids.slice(start, start + CHUNK))} as v
      join advisory_alias as l on l.advisory_uid = v.value`.execute(db);
    for (const { uid, alias } of rows) {
      const ofAdvisory = aliases.get(uid);
      if (ofAdvisory === undefined) aliases.set(uid, [alias]);
      else ofAdvisory.push(alias);
    }
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
