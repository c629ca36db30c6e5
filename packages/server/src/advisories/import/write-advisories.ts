/** Stores a batch of advisories in one transaction, with all that is derived of them; what is known already costs no write. */
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { AdvisoryTable } from "../../db/schema.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { aboutOf } from "../derive.ts";
import { withEvents } from "../load.ts";
import { type AdvisoryChange, storeAdvisories } from "../store.ts";
import type { ImportOptions } from "./import-source.ts";
import { type Authorship, advisoryFromRecord, merge } from "./merge-advisory.ts";
import { neighbouringUids } from "./neighbouring-uids.ts";
import type { AdvisoryRecord } from "./record.ts";
import { retryRaces } from "./retry-races.ts";

interface Outcome {
  readonly created: number;
  readonly updated: number;
}

export async function writeAdvisories(options: ImportOptions, batch: readonly AdvisoryRecord[]): Promise<Outcome> {
  const { store, parent, actor, approves, clock } = options;
  const authorship = { actor, approves, now: clock.now() };
  const records = uniqueRecords(batch);
  // Where all is known, nobody has to wait for a transaction.
  const stored = await findStored(store.reader, parent, [...records.keys()], false);
  const rest = new Map([...records].filter(([about, record]) => isNews(stored.get(about), record, authorship)));
  if (rest.size === 0) return { created: 0, updated: 0 };
  return retryRaces(parent, () => store.transaction((db) => writeNews(db, parent, rest, authorship)));
}

/** By what they are about; several about the same are one, with the events of all. */
function uniqueRecords(batch: readonly AdvisoryRecord[]): ReadonlyMap<string, AdvisoryRecord> {
  const records = new Map<string, AdvisoryRecord>();
  for (const record of batch) {
    // As far as it looks, a record has all that an advisory has.
    const about = aboutOf(record as unknown as Advisory);
    const other = records.get(about);
    records.set(about, other === undefined ? record : together(other, record));
  }
  return records;
}

function together(one: AdvisoryRecord, other: AdvisoryRecord): AdvisoryRecord {
  return {
    ...one,
    aliases: [...new Set([...one.aliases, ...other.aliases])],
    events: [...one.events, ...other.events],
    withdrawn: one.withdrawn ?? other.withdrawn,
  };
}

function isNews(stored: Stored | undefined, record: AdvisoryRecord, authorship: Authorship): boolean {
  return stored === undefined || merge(stored.advisory, record, authorship) !== undefined;
}

interface Stored {
  readonly row: AdvisoryTable;
  readonly advisory: Advisory;
}

async function findStored(db: ReadDb, parent: string, abouts: readonly string[], isLocked: boolean): Promise<Map<string, Stored>> {
  const wanted = db.selectFrom(db.dialect.valuesOf(abouts).as("v")).select("v.value");
  const query = db.selectFrom("advisory").selectAll().where("parent", "=", parent).where("about", "in", wanted).orderBy("uid");
  const rows = await (isLocked ? db.dialect.forUpdate(query) : query).execute();
  const advisories = rows.length === 0 ? [] : await withEvents(db, rows);
  return new Map(rows.map((row, index) => [row.about, { row, advisory: advisories[index]! }]));
}

async function writeNews(
  db: WriteDb,
  parent: string,
  records: ReadonlyMap<string, AdvisoryRecord>,
  authorship: Authorship,
): Promise<Outcome> {
  // In one order, so that imports of the same do not wait for each other in a circle.
  const abouts = [...records.keys()].sort();
  const stored = await findStored(db, parent, abouts, true);
  const created = abouts.length - stored.size;
  const uids = neighbouringUids(parent, created).values();
  const changes = abouts.flatMap((about): AdvisoryChange[] => {
    const [record, known] = [records.get(about)!, stored.get(about)];
    if (known === undefined) return [{ before: undefined, after: advisoryFromRecord(uids.next().value!, record, authorship) }];
    const after = merge(known.advisory, record, authorship);
    return after === undefined ? [] : [{ before: known.row, after }];
  });
  await storeAdvisories(db, changes);
  return { created, updated: changes.length - created };
}
