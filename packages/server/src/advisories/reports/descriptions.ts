/** What a report says of advisories: their aliases, and how severe public databases say that they are. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";
import type { History, ReportedAdvisory } from "./histories.ts";
import { readAhead } from "./read-ahead.ts";

/** Of one query. */
const CHUNK = 1000;
/** What nothing is known of has one severity, of no type. */
const UNKNOWN = '{"type":"TYPE_UNSPECIFIED","score":""}';

interface Alias {
  readonly name: string;
  /** As public databases have them, each as JSON. */
  readonly severities: readonly string[];
}

interface Description {
  readonly id: string;
  readonly aliases: readonly Alias[];
  /** All that is said, as JSON. */
  readonly text: string;
}

/** @returns what a report says of some of these, in the order of their ids, as JSON text: advisories of one id are one */
export async function readDescriptions(all: Iterable<History>, db: ReadDb): Promise<(histories: Iterable<History>) => string> {
  const descriptions = new Map<ReportedAdvisory, Description>();
  const parts = partsOfTexts();
  for await (const [chunk, rows] of readAhead(neighbours(advisoriesOf(all)), (chunk) => readAliases(chunk, db), db)) {
    const aliases = aliasesOf(rows, parts);
    for (const advisory of chunk) descriptions.set(advisory, describe(advisory.advisory_id, aliases.get(advisory.uid) ?? []));
  }
  return (histories) => {
    const byId = new Map<string, Description>();
    for (const advisory of advisoriesOf(histories)) {
      const description = descriptions.get(advisory) as Description;
      const same = byId.get(description.id);
      byId.set(description.id, same === undefined ? description : merged(same, description));
    }
    // Without a function that compares it is much faster.
    const ids = [...byId.keys()].sort();
    return ids.map((id) => byId.get(id)?.text).join(",");
  };
}

function advisoriesOf(histories: Iterable<History>): ReportedAdvisory[] {
  return [...histories].flatMap(({ advisories }) => advisories);
}

/** Chunks of advisories that are near each other in each group, in the order of an index: what is read for one of them is read for others, too. */
function neighbours(advisories: readonly ReportedAdvisory[]): ReportedAdvisory[][] {
  const chunks = Array.from({ length: Math.ceil(advisories.length / CHUNK) }, (): ReportedAdvisory[] => []);
  for (const advisory of advisories) {
    // The last part of a uid is random, so all have about as many.
    const place = Number.parseInt(advisory.uid.slice(-16, -12), 16) / 2 ** 16;
    chunks[Math.floor(place * chunks.length)]?.push(advisory);
  }
  return chunks;
}

interface AliasRow {
  readonly uid: string;
  readonly alias: string;
  readonly severities: string | null;
}

async function readAliases(advisories: readonly ReportedAdvisory[], db: ReadDb): Promise<readonly AliasRow[]> {
  const uids = db.dialect.valuesOf(advisories.map(({ uid }) => uid).sort());
  const { rows } = await sql<AliasRow>`select l.advisory_uid as uid, l.alias, u.severities from ${uids} as v
    join advisory_alias as l on l.advisory_uid = v.value left join vulnerability as u on u.id = l.alias`.execute(db);
  return rows;
}

/** By the uid. */
function aliasesOf(rows: readonly AliasRow[], parts: (text: string) => readonly string[]): ReadonlyMap<string, Alias[]> {
  const aliases = new Map<string, Alias[]>();
  for (const { uid, alias, severities } of rows) {
    const one = { name: alias, severities: parts(severities ?? "[]") };
    const ofAdvisory = aliases.get(uid);
    if (ofAdvisory === undefined) aliases.set(uid, [one]);
    else ofAdvisory.push(one);
  }
  return aliases;
}

/** Of texts of JSON arrays, what is in them, as JSON. There are few different ones: each is parsed once. */
function partsOfTexts(): (text: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (text) => {
    const parts = known.get(text) ?? (JSON.parse(text) as unknown[]).map((part) => JSON.stringify(part));
    known.set(text, parts);
    return parts;
  };
}

/** @param aliases each once */
function describe(id: string, aliases: readonly Alias[]): Description {
  const sorted = aliases.toSorted((a, b) => compareTexts(a.name, b.name));
  const severities = new Set<string>();
  for (const alias of sorted) for (const severity of alias.severities) severities.add(severity);
  const names = JSON.stringify(sorted.map(({ name }) => name));
  return {
    id,
    aliases,
    text: `{"id":${JSON.stringify(id)},"aliases":${names},"cvssSeverities":[${[...severities].join(",") || UNKNOWN}]}`,
  };
}

function merged(a: Description, b: Description): Description {
  const aliases = new Map([...a.aliases, ...b.aliases].map((alias) => [alias.name, alias]));
  return describe(a.id, [...aliases.values()]);
}
