/** Stores a batch of advisories in one transaction, with everything derived from them. Known records cost no write. */
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { newUid } from "../../lib/uid.ts";
import { readAffected, type StoredAffected, storeAffected } from "../storage/affected.ts";
import { advisoryFromRow } from "../storage/load.ts";
import { type AdvisoryChange, storeAdvisories } from "../storage/store.ts";
import type { AdvisoryTable } from "../tables.ts";
import type { BatchOutcome, ImportOptions, ImportProblem } from "./import-options.ts";
import { type Authorship, isForbiddenWithdrawal, merge } from "./merge-advisory.ts";
import { changedAffected, joinAffected } from "./merge-affected.ts";
import { type Prepared, type PreparedRecord, prepare, prepareNew, withCreationTime } from "./prepare-advisory.ts";
import type { AdvisoryRecord } from "./record.ts";
import { retryRaces } from "./retry-races.ts";

export async function writeAdvisories(options: ImportOptions, batch: readonly PreparedRecord[]): Promise<BatchOutcome> {
  const { store, parent, actor, approves, mayDelete, clock } = options;
  const authorship = { actor, approves, mayDelete, now: clock.now() };
  const records = mergeDuplicates(batch, parent, authorship);
  return retryRaces(parent, async () => {
    const stored = await findStored(store.reader, parent, [...records.keys()], false);
    const changes = [...records.values()].filter((prepared) => isChange(stored.get(prepared.about), prepared, authorship));
    // A batch of known records needs no transaction.
    if (changes.length === 0) return { created: 0, updated: 0, refused: [] };
    const known = changes.flatMap(({ about }) => (stored.has(about) ? [about] : []));
    return store.transaction((db) => writeChanges(db, { parent, changes, known }, authorship));
  });
}

/** By key. Records with the same key are merged. */
function mergeDuplicates(batch: readonly PreparedRecord[], parent: string, authorship: Authorship): ReadonlyMap<string, PreparedRecord> {
  const records = new Map<string, PreparedRecord>();
  for (const prepared of batch) {
    const { about } = prepared;
    const other = records.get(about);
    if (other === undefined) {
      records.set(about, prepared);
      continue;
    }
    const record = mergeRecords(other.record, prepared.record);
    records.set(about, { ...prepared, record, ...prepareNew(newUid(parent), record, authorship) });
  }
  return records;
}

function mergeRecords(one: AdvisoryRecord, other: AdvisoryRecord): AdvisoryRecord {
  const affected = joinAffected(one.affected, other.affected);
  return {
    ...one,
    aliases: [...new Set([...one.aliases, ...other.aliases])],
    events: [...one.events, ...other.events],
    ...(affected !== undefined && { affected }),
    withdrawn: one.withdrawn ?? other.withdrawn,
  };
}

function isChange(stored: Stored | undefined, prepared: PreparedRecord, authorship: Authorship): boolean {
  return (
    stored === undefined ||
    merge(stored.advisory, prepared.record, authorship) !== undefined ||
    changedAffected(stored, prepared.record, authorship) !== undefined
  );
}

interface Stored {
  /** Undefined if the affected versions are not known. */
  readonly affected: StoredAffected | undefined;
  readonly row: AdvisoryTable;
  readonly advisory: Advisory;
}

async function findStored(db: ReadDb, parent: string, keys: readonly string[], isLocked: boolean): Promise<Map<string, Stored>> {
  const wanted = db.selectFrom(db.dialect.valuesOf(keys).as("v")).select("v.value");
  const query = db.selectFrom("advisory").selectAll().where("parent", "=", parent).where("about", "in", wanted).orderBy("uid");
  const rows = await (isLocked ? db.dialect.forUpdate(query) : query).execute();
  const affected = await readAffected(
    db,
    rows.map(({ uid }) => uid),
  );
  return new Map(rows.map((row) => [row.about, { row, advisory: advisoryFromRow(row), affected: affected.get(row.uid) }]));
}

interface Changes {
  readonly parent: string;
  readonly changes: readonly PreparedRecord[];
  /** The keys of records whose advisories are stored. Others are inserted, which fails if another writer did so first. */
  readonly known: readonly string[];
}

async function writeChanges(
  db: WriteDb,
  { parent, changes: records, known: keys }: Changes,
  authorship: Authorship,
): Promise<BatchOutcome> {
  const stored: ReadonlyMap<string, Stored> = keys.length === 0 ? new Map() : await findStored(db, parent, keys, true);
  const changes: AdvisoryChange[] = [];
  const affected: StoredAffected[] = [];
  const refused: ImportProblem[] = [];
  // Sorted, so that imports of the same advisories cannot deadlock.
  for (const prepared of records.toSorted((a, b) => (a.about < b.about ? -1 : 1))) {
    const { about, file, position, newAdvisory, newAffected } = prepared;
    const known = stored.get(about);
    const after = known === undefined ? newAdvisory : prepareChange(known.advisory, prepared.record, authorship);
    const versions = known === undefined ? newAffected : changedAffected(known, prepared.record, authorship);
    if (known !== undefined && versions !== undefined) affected.push({ advisory_uid: known.row.uid, ...versions });
    if (after === undefined) continue;
    const reason = reasonToRefuse(prepared, known, after, authorship);
    if (reason !== undefined) refused.push({ file, position, reason });
    else if ("derived" in after) {
      changes.push({ before: known?.row, after: known === undefined ? withCreationTime(after.derived, authorship.now) : after.derived });
      if (known === undefined && versions !== undefined) affected.push({ advisory_uid: after.derived.row.uid, ...versions });
    }
  }
  await storeAdvisories(db, changes);
  await storeAffected(db, affected, new Set(changes.map(({ after }) => after.row.uid)));
  const created = changes.filter(({ before }) => before === undefined).length;
  const written = new Set([...changes.map(({ after }) => after.row.uid), ...affected.map(({ advisory_uid }) => advisory_uid)]);
  return { created, updated: written.size - created, refused };
}

/** Undefined if the record adds nothing. */
function prepareChange(stored: Advisory, record: AdvisoryRecord, authorship: Authorship): Prepared | undefined {
  const changed = merge(stored, record, authorship);
  return changed === undefined ? undefined : prepare(changed);
}

function reasonToRefuse(prepared: PreparedRecord, known: Stored | undefined, after: Prepared, authorship: Authorship): string | undefined {
  // Nearly all records are usable. Reading a field would parse the record.
  if ("derived" in after && after.derived.row.delete_time === null) return undefined;
  const { record } = prepared;
  const reason = isForbiddenWithdrawal(known?.advisory, record, authorship) ? WITHDRAWN : "problem" in after ? after.problem : undefined;
  return reason === undefined ? undefined : `${record.advisoryId} of ${record.artifactName}: ${reason}`;
}

const WITHDRAWN = "withdrawn by its source, but this import may not delete advisories; left unchanged";
