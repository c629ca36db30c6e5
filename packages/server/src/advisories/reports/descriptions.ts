/** Describes the advisories of a report: ids, aliases and the severities of public vulnerability records. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";
import type { History, ReportedAdvisory } from "./histories.ts";
import { readAhead } from "./read-ahead.ts";

const ADVISORIES_PER_QUERY = 1000;
/** The severities of an advisory without known severities. */
const UNKNOWN_SEVERITY = '{"type":"TYPE_UNSPECIFIED","score":""}';

interface DescribedAlias {
  readonly name: string;
  /** Severities of the public record, each as JSON. */
  readonly severities: readonly string[];
}

interface AdvisoryDescription {
  readonly id: string;
  readonly aliases: readonly DescribedAlias[];
  /** The complete description as JSON. */
  readonly text: string;
}

/**
 * @returns a function that encodes some of the histories for a report: JSON objects joined by commas, sorted by
 * advisory id; advisories of the same id are merged
 */
export async function readDescriptions(all: Iterable<History>, db: ReadDb): Promise<(histories: Iterable<History>) => string> {
  const descriptions = new Map<ReportedAdvisory, AdvisoryDescription>();
  const parse = createArrayParser();
  for await (const [chunk, lines] of readAhead(chunkByUid(advisoriesOf(all)), (chunk) => readAliasLines(chunk, db), db)) {
    const aliases = aliasesOf(chunk.length, lines, parse);
    for (const [index, advisory] of chunk.entries()) descriptions.set(advisory, describe(advisory.advisory_id, aliases[index] ?? []));
  }
  return (histories) => {
    const byId = new Map<string, AdvisoryDescription>();
    for (const advisory of advisoriesOf(histories)) {
      const description = descriptions.get(advisory) as AdvisoryDescription;
      const same = byId.get(description.id);
      byId.set(description.id, same === undefined ? description : mergeDescriptions(same, description));
    }
    // The default order is much faster than a comparison function.
    const ids = [...byId.keys()].sort();
    return ids.map((id) => byId.get(id)?.text).join(",");
  };
}

function advisoriesOf(histories: Iterable<History>): ReportedAdvisory[] {
  return [...histories].flatMap(({ advisories }) => advisories);
}

/** Chunks by uid, which is the order of an index, so that the rows of a chunk are near each other. */
function chunkByUid(advisories: readonly ReportedAdvisory[]): ReportedAdvisory[][] {
  const chunks = Array.from({ length: Math.ceil(advisories.length / ADVISORIES_PER_QUERY) }, (): ReportedAdvisory[] => []);
  for (const advisory of advisories) {
    // The last part of a uid is random, so the chunks are of about the same size.
    const fraction = Number.parseInt(advisory.uid.slice(-16, -12), 16) / 2 ** 16;
    chunks[Math.floor(fraction * chunks.length)]?.push(advisory);
  }
  return chunks;
}

/** Neither names nor JSON contain control characters. */
const SEPARATOR = "\n";

/**
 * Index, alias and severities of all aliases of the advisories, in lines of one string, which is several times as fast as one row per
 * alias.
 */
async function readAliasLines(advisories: readonly ReportedAdvisory[], db: ReadDb): Promise<readonly string[]> {
  const indexed = advisories.map(({ uid }, index) => ({ uid, index })).sort((a, b) => (a.uid < b.uid ? -1 : 1));
  const wanted = db.dialect.rowsOf(indexed, { uid: "text", index: "bigint" });
  const line = sql`cast(v."index" as text) || ${SEPARATOR} || l.alias || ${SEPARATOR} || coalesce(u.severities, '[]')`;
  const { rows } = await sql<{ lines: string | null }>`select string_agg(${line}, ${SEPARATOR}) as lines from ${wanted} as v
    join advisory_alias as l on l.advisory_uid = v.uid left join vulnerability as u on u.id = l.alias`.execute(db);
  return rows[0]?.lines?.split(SEPARATOR) ?? [];
}

/** By index of the advisory. @param lines three for each alias */
function aliasesOf(advisories: number, lines: readonly string[], parse: (json: string) => readonly string[]): readonly DescribedAlias[][] {
  const aliases = Array.from({ length: advisories }, (): DescribedAlias[] => []);
  for (let i = 0; i + 2 < lines.length; i += 3)
    aliases[Number(lines[i])]?.push({ name: lines[i + 1] as string, severities: parse(lines[i + 2] as string) });
  return aliases;
}

/**
 * Returns a function that parses a JSON array into the JSON of its elements. There are few different arrays, so results
 * are cached.
 */
function createArrayParser(): (json: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (json) => {
    const elements = known.get(json) ?? (JSON.parse(json) as unknown[]).map((element) => JSON.stringify(element));
    known.set(json, elements);
    return elements;
  };
}

/** @param aliases without duplicates */
function describe(id: string, aliases: readonly DescribedAlias[]): AdvisoryDescription {
  const sorted = aliases.toSorted((a, b) => compareTexts(a.name, b.name));
  const severities = new Set<string>();
  for (const alias of sorted) for (const severity of alias.severities) severities.add(severity);
  const names = JSON.stringify(sorted.map(({ name }) => name));
  return {
    id,
    aliases,
    text: `{"id":${JSON.stringify(id)},"aliases":${names},"cvssSeverities":[${[...severities].join(",") || UNKNOWN_SEVERITY}]}`,
  };
}

function mergeDescriptions(a: AdvisoryDescription, b: AdvisoryDescription): AdvisoryDescription {
  const aliases = new Map([...a.aliases, ...b.aliases].map((alias) => [alias.name, alias]));
  return describe(a.id, [...aliases.values()]);
}
