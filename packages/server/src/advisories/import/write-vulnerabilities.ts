/**
 * Stores a batch of vulnerabilities in one transaction, unless very many advisories are about them. Older records do not replace newer
 * ones, and known records cost no write.
 */
import { create } from "@bufbuild/protobuf";
import { VulnerabilityMetadataSchema } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { type Severity_Type, SeveritySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { appendToVulnerabilityCount } from "../../db/resource-count.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { createBreaks } from "../../jobs/breaks.ts";
import { chunksBySize, inChunks } from "../../lib/chunks-by-size.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { appendToVulnerabilityChanges } from "../storage/changes.ts";
import { insertRows } from "../storage/insert-rows.ts";
import { countAdvisoriesAbout, requestMatchingOfVulnerabilities } from "../storage/match-requests.ts";
import type { VulnerabilityTable } from "../tables.ts";
import type { BatchOutcome, ImportOptions } from "./import-options.ts";
import type { VulnerabilityRecord } from "./record.ts";
import { retryRaces } from "./retry-races.ts";

const encodeMetadata = compileJsonEncoder(VulnerabilityMetadataSchema);
const encodeSeverity = compileJsonEncoder(SeveritySchema);

const NO_SEVERITIES = "[]";
/** A record that more advisories are about has a transaction of its own. */
const ADVISORIES_PER_TRANSACTION = 2000;
/** Vulnerabilities whose advisories are counted without yielding to other requests. */
const IDS_PER_COUNT = 50;

type NewRow = Omit<VulnerabilityTable, "update_time">;
type StoredRows = ReadonlyMap<string, VulnerabilityTable>;

export async function writeVulnerabilities({ store, clock }: ImportOptions, batch: readonly VulnerabilityRecord[]): Promise<BatchOutcome> {
  const rows = newestOf(batch.map(rowOf));
  const ids = rows.map(({ id }) => id);
  const stored = await findStored(store.reader, ids, false);
  const changes = changesOf(rows, stored);
  const now = clock.now().toISOString();
  let [created, updated] = [0, 0];
  for (const chunk of await chunksOf(store.reader, changes, stored)) {
    const outcome = await retryRaces("", () => store.transaction((db) => writeChanges(db, chunk, now)));
    created += outcome.created;
    updated += outcome.updated;
  }
  return { created, updated, refused: [] };
}

/** The packages of advisories about a record with new scores are requested to be compared in the transaction that stores it. */
async function chunksOf(db: ReadDb, changes: readonly NewRow[], stored: StoredRows): Promise<NewRow[][]> {
  const counts = new Map<string, number>();
  const pause = createBreaks();
  for (const ids of inChunks(rescoredAmong(changes, stored), IDS_PER_COUNT)) {
    for (const { id, count } of await countAdvisoriesAbout(db, ids, ADVISORIES_PER_TRANSACTION)) counts.set(id, count);
    await pause();
  }
  return chunksBySize(changes, { sizeOf: ({ id }) => counts.get(id) ?? 0, maxSize: ADVISORIES_PER_TRANSACTION });
}

/** @returns ids */
function rescoredAmong(changes: readonly NewRow[], stored: StoredRows): readonly string[] {
  const rescored = changes.filter(({ id, severities }) => (stored.get(id)?.severities ?? NO_SEVERITIES) !== severities);
  return rescored.map(({ id }) => id);
}

function rowOf({ id, modified, summary, details, references, severities }: VulnerabilityRecord): NewRow {
  return {
    id,
    modified_time: modified,
    severities: `[${severities.map((severity) => encodeSeverity(create(SeveritySchema, severityInV2(severity)))).join(",")}]`,
    body: encodeMetadata(
      create(VulnerabilityMetadataSchema, { id, summary, details, references: [...references], severities: [...severities] }),
    ),
  };
}

/** Both APIs number the types of scores alike. */
function severityInV2({ type, score }: VulnerabilityRecord["severities"][number]) {
  return { type: type as number as Severity_Type, score };
}

/** One row per id, sorted. */
function newestOf(rows: readonly NewRow[]): readonly NewRow[] {
  const newest = new Map<string, NewRow>();
  for (const row of rows) if (replaces(row, newest.get(row.id))) newest.set(row.id, row);
  return [...newest.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Two databases can describe a vulnerability with the same modification time. The same record wins then, whatever the
 * order; otherwise the records would replace each other at every import.
 */
function replaces(row: NewRow, known: NewRow | undefined): boolean {
  if (known === undefined) return true;
  if (row.modified_time !== known.modified_time) return row.modified_time > known.modified_time;
  return row.body.length === known.body.length ? row.body > known.body : row.body.length > known.body.length;
}

function changesOf(rows: readonly NewRow[], stored: StoredRows): readonly NewRow[] {
  return rows.filter((row) => replaces(row, stored.get(row.id)));
}

async function findStored(db: ReadDb, ids: readonly string[], isLocked: boolean): Promise<StoredRows> {
  const wanted = db.selectFrom(db.dialect.valuesOf(ids).as("v")).select("v.value");
  const query = db.selectFrom("vulnerability").selectAll().where("id", "in", wanted).orderBy("id");
  const rows = await (isLocked ? db.dialect.forUpdate(query) : query).execute();
  return new Map(rows.map((row) => [row.id, row]));
}

async function writeChanges(db: WriteDb, candidates: readonly NewRow[], now: string): Promise<BatchOutcome> {
  const ids = candidates.map(({ id }) => id);
  const stored = await findStored(db, ids, true);
  const changes = changesOf(candidates, stored);
  const created = changes.filter(({ id }) => !stored.has(id));
  const updated = changes.filter(({ id, body }) => (stored.get(id)?.body ?? body) !== body);
  // Only the modification time differs, which no client sees, so the update time stays.
  const renewed = changes.filter(({ id, body }) => stored.get(id)?.body === body);
  const withTime = (rows: readonly NewRow[]) => rows.map((row): VulnerabilityTable => ({ ...row, update_time: now }));
  // Fails if another writer has inserted a row meanwhile, which would be counted twice.
  await insertRows(db, "vulnerability", "new", withTime(created));
  await insertRows(db, "vulnerability", ["id"], [...withTime(updated), ...renewed.map((row) => ({ ...stored.get(row.id)!, ...row }))]);
  await appendToVulnerabilityCount(db, created.length);
  if (created.length + updated.length > 0) await appendToVulnerabilityChanges(db);
  await requestMatchingOfVulnerabilities(db, rescoredAmong(changes, stored));
  return { created: created.length, updated: updated.length, refused: [] };
}
