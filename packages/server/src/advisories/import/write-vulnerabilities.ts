/** Stores a batch of vulnerabilities in one transaction; an older record does not replace a newer one, and what is known already costs no write. */
import { create } from "@bufbuild/protobuf";
import { VulnerabilityMetadataSchema } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { type Severity_Type, SeveritySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { appendToVulnerabilityCount } from "../../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { insertRows } from "../storage/insert-rows.ts";
import type { VulnerabilityTable } from "../tables.ts";
import type { BatchOutcome, ImportOptions } from "./import-options.ts";
import type { VulnerabilityRecord } from "./record.ts";
import { retryRaces } from "./retry-races.ts";

const encodeMetadata = compileJsonEncoder(VulnerabilityMetadataSchema);
const encodeSeverity = compileJsonEncoder(SeveritySchema);

type Row = Omit<VulnerabilityTable, "update_time">;
type Known = ReadonlyMap<string, VulnerabilityTable>;

export async function writeVulnerabilities({ store, clock }: ImportOptions, batch: readonly VulnerabilityRecord[]): Promise<BatchOutcome> {
  const rows = newestOf(batch.map(rowOf));
  const ids = rows.map(({ id }) => id);
  const news = newsOf(rows, await findStored(store.reader, ids, false));
  if (news.length === 0) return { created: 0, updated: 0, refused: [] };
  const now = clock.now().toISOString();
  return retryRaces("", () => store.transaction((db) => writeNews(db, news, now)));
}

function rowOf({ id, modified, summary, details, references, severities }: VulnerabilityRecord): Row {
  return {
    id,
    modified_time: modified,
    severities: `[${severities.map((severity) => encodeSeverity(create(SeveritySchema, asV2(severity)))).join(",")}]`,
    body: encodeMetadata(
      create(VulnerabilityMetadataSchema, { id, summary, details, references: [...references], severities: [...severities] }),
    ),
  };
}

/** Both domains know the same kinds of scores by the same numbers. */
function asV2({ type, score }: VulnerabilityRecord["severities"][number]) {
  return { type: type as number as Severity_Type, score };
}

/** Each id once, in order. */
function newestOf(rows: readonly Row[]): readonly Row[] {
  const newest = new Map<string, Row>();
  for (const row of rows) if (replaces(row, newest.get(row.id))) newest.set(row.id, row);
  return [...newest.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Of two that were modified at the same time, as when two databases tell of one vulnerability, one always wins, whichever comes first; otherwise
 * they would replace each other at each import.
 */
function replaces(row: Row, known: Row | undefined): boolean {
  if (known === undefined) return true;
  if (row.modified_time !== known.modified_time) return row.modified_time > known.modified_time;
  return row.body.length === known.body.length ? row.body > known.body : row.body.length > known.body.length;
}

function newsOf(rows: readonly Row[], stored: Known): readonly Row[] {
  return rows.filter((row) => replaces(row, stored.get(row.id)));
}

async function findStored(db: ReadDb, ids: readonly string[], isLocked: boolean): Promise<Known> {
  const wanted = db.selectFrom(db.dialect.valuesOf(ids).as("v")).select("v.value");
  const query = db.selectFrom("vulnerability").selectAll().where("id", "in", wanted).orderBy("id");
  const rows = await (isLocked ? db.dialect.forUpdate(query) : query).execute();
  return new Map(rows.map((row) => [row.id, row]));
}

async function writeNews(db: WriteDb, candidates: readonly Row[], now: string): Promise<BatchOutcome> {
  const ids = candidates.map(({ id }) => id);
  const stored = await findStored(db, ids, true);
  const news = newsOf(candidates, stored);
  const fresh = news.filter(({ id }) => !stored.has(id));
  const changed = news.filter(({ id, body }) => (stored.get(id)?.body ?? body) !== body);
  // That a record was looked at again changes nothing that anybody sees.
  const same = news.filter(({ id, body }) => stored.get(id)?.body === body);
  const timed = (rows: readonly Row[]) => rows.map((row): VulnerabilityTable => ({ ...row, update_time: now }));
  // One that somebody else stored meanwhile must not be counted twice.
  await insertRows(db, "vulnerability", "new", timed(fresh));
  await insertRows(db, "vulnerability", ["id"], [...timed(changed), ...same.map((row) => ({ ...stored.get(row.id)!, ...row }))]);
  await appendToVulnerabilityCount(db, fresh.length);
  return { created: fresh.length, updated: changed.length, refused: [] };
}
