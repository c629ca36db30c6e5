/** Loads the advisories about packages, with their ranges and the scores of their vulnerabilities. */
import { setImmediate } from "node:timers/promises";
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { ancestry } from "../../lib/uid.ts";
import { distributionNames, packageType } from "../export/ecosystems.ts";
import { publishedAdvisory } from "../export/published-advisory.ts";
import { parseAffected } from "../model/affected.ts";
import { packageKey, termsOfKey } from "../model/package-key.ts";
import type { Candidate } from "./assessment.ts";
import type { CvssScore } from "./finding.ts";

/** Organizations whose advisories apply. */
export type Roots = readonly string[] | "all";

const ROWS_PER_QUERY = 1000;
/** The ranges of an advisory can have some hundred kilobytes. */
const ADVISORIES_PER_QUERY = 100;

/** An advisory that may be about packages with this key. */
export interface KeyedCandidate {
  readonly key: string;
  readonly candidate: Candidate;
}

/**
 * Advisories about packages with these keys, of which few are in memory at a time. Advisories without approved events are
 * left out. Others run between two pages.
 */
export async function* loadCandidates(db: ReadDb, keys: readonly string[], roots: Roots): AsyncGenerator<KeyedCandidate> {
  const wanted = new Set(keys);
  const groups = await namedGroups(db);
  const terms = [...new Set(keys.flatMap(termsOfKey))].sort();
  let after = { term: "", uid: "" };
  for (;;) {
    const rows = await readPage(db, terms, roots, after);
    for (const row of rows) {
      const key = packageKey(row.artifact_type, row.artifact_name);
      const candidate = wanted.has(key) ? candidateOf(row, groups) : undefined;
      if (candidate !== undefined) yield { key, candidate };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ADVISORIES_PER_QUERY) return;
    after = last;
    await setImmediate();
  }
}

/** The number of advisories that `loadCandidates` reads for each key, at most. */
export async function countCandidates(db: ReadDb, keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const terms = [...new Set(keys.flatMap(termsOfKey))];
  const { rows } = await sql<{ term: string; n: number }>`select t.term, count(*) as n from ${db.dialect.valuesOf(terms)} as v
    cross join advisory_term as t where t.term = v.value group by t.term`.execute(db);
  const counts = new Map(rows.map(({ term, n }) => [term, Number(n)]));
  return new Map(keys.map((key) => [key, termsOfKey(key).reduce((sum, term) => sum + (counts.get(term) ?? 0), 0)]));
}

interface AdvisoryRow {
  readonly term: string;
  readonly uid: string;
  readonly artifact_type: string;
  readonly artifact_name: string;
  readonly body: string;
  readonly entries: string | null;
  readonly modified_time: string | null;
}

async function readPage(db: ReadDb, terms: readonly string[], roots: Roots, after: { term: string; uid: string }) {
  const wanted = db.dialect.valuesOf(terms.filter((term) => term >= after.term));
  const { rows } = await sql<AdvisoryRow>`
    select t.term, a.uid, a.artifact_type, a.artifact_name, a.body, f.entries, f.modified_time from ${wanted} as v
      cross join advisory_term as t cross join advisory as a left join advisory_affected as f on f.advisory_uid = a.uid
      where t.term = v.value and a.uid = t.advisory_uid and a.delete_time is null and ${isOf(db, roots)}
      and (t.term > ${after.term} or t.advisory_uid > ${after.uid}) order by t.term, t.advisory_uid limit ${ADVISORIES_PER_QUERY}`.execute(
    db,
  );
  return rows;
}

function isOf(db: ReadDb, roots: Roots): RawBuilder<boolean> {
  if (roots === "all") return sql`1 = 1`;
  return sql`substr(t.advisory_uid, 1, 40) in (select r.value from ${db.dialect.valuesOf(roots)} as r)`;
}

function candidateOf(
  { uid, artifact_type, body, entries, modified_time }: AdvisoryRow,
  groups: ReadonlyMap<string, string>,
): Candidate | undefined {
  const advisory = publishedAdvisory(body);
  if (advisory === undefined) return undefined;
  const isDistributed = ["apk", "deb", "rpm"].includes(packageType(artifact_type));
  return {
    advisory,
    affected: entries === null ? undefined : { entries: parseAffected(entries), modifiedTime: modified_time ?? "" },
    distribution: isDistributed
      ? ancestry(uid)
          .map((group) => groups.get(group))
          .find((name) => name !== undefined)
      : undefined,
  };
}

/** The groups that are named after a distribution. */
async function namedGroups(db: ReadDb): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom("group").select(["uid", "name"]).where("name", "in", distributionNames).execute();
  return new Map(rows.map(({ uid, name }) => [uid, name]));
}

/** The scores of public vulnerability records, by id. */
export async function loadScores(db: ReadDb, ids: Iterable<string>): Promise<(id: string) => readonly CvssScore[]> {
  const all = [...new Set(ids)].sort();
  const scores = new Map<string, readonly CvssScore[]>();
  for (let start = 0; start < all.length; start += ROWS_PER_QUERY) {
    const wanted = db.dialect.valuesOf(all.slice(start, start + ROWS_PER_QUERY));
    const { rows } = await sql<{ id: string; severities: string }>`
      select u.id, u.severities from ${wanted} as v cross join vulnerability as u where u.id = v.value and u.severities <> '[]'`.execute(
      db,
    );
    for (const { id, severities } of rows) scores.set(id, JSON.parse(severities) as CvssScore[]);
  }
  return (id) => scores.get(id) ?? [];
}
