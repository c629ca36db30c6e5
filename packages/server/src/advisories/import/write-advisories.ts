/** Stores a batch of advisories in one transaction, with all that is derived of them; what is known already costs no write. */
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { AdvisoryTable } from "../../db/schema.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { advisoryViolations, sizeViolations } from "../advisory-rules.ts";
import { aboutOf, advisoryRow } from "../derive.ts";
import { advisoryFrom } from "../load.ts";
import { type AdvisoryChange, storeAdvisories } from "../store.ts";
import type { BatchOutcome, ImportOptions, ImportProblem } from "./import-options.ts";
import { type Authorship, advisoryFromRecord, isBeyondRights, merge } from "./merge-advisory.ts";
import { neighbouringUids } from "./neighbouring-uids.ts";
import type { AdvisoryRecord, Placed } from "./record.ts";
import { retryRaces } from "./retry-races.ts";

export async function writeAdvisories(options: ImportOptions, batch: readonly Placed<AdvisoryRecord>[]): Promise<BatchOutcome> {
  const { store, parent, actor, approves, mayDelete, clock } = options;
  const authorship = { actor, approves, mayDelete, now: clock.now() };
  const records = uniqueRecords(batch);
  // Where all is known, nobody has to wait for a transaction.
  const stored = await findStored(store.reader, parent, [...records.keys()], false);
  const rest = new Map([...records].filter(([about, record]) => isNews(stored.get(about), record.record, authorship)));
  if (rest.size === 0) return { created: 0, updated: 0, refused: [] };
  return retryRaces(parent, () => store.transaction((db) => writeNews(db, parent, rest, authorship)));
}

/** By what they are about; several about the same are one, with the events of all. */
function uniqueRecords(batch: readonly Placed<AdvisoryRecord>[]): ReadonlyMap<string, Placed<AdvisoryRecord>> {
  const records = new Map<string, Placed<AdvisoryRecord>>();
  for (const placed of batch) {
    // As far as it looks, a record has all that an advisory has.
    const about = aboutOf(placed.record as unknown as Advisory);
    const other = records.get(about);
    records.set(about, other === undefined ? placed : { ...placed, record: together(other.record, placed.record) });
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
  return new Map(rows.map((row) => [row.about, { row, advisory: advisoryFrom(row) }]));
}

async function writeNews(
  db: WriteDb,
  parent: string,
  records: ReadonlyMap<string, Placed<AdvisoryRecord>>,
  authorship: Authorship,
): Promise<BatchOutcome> {
  // In one order, so that imports of the same do not wait for each other in a circle.
  const abouts = [...records.keys()].sort();
  const stored = await findStored(db, parent, abouts, true);
  const uids = neighbouringUids(parent, abouts.length - stored.size).values();
  const changes: AdvisoryChange[] = [];
  const refused: ImportProblem[] = [];
  for (const about of abouts) {
    const [{ record, file, position }, known] = [records.get(about)!, stored.get(about)];
    const after =
      known === undefined ? advisoryFromRecord(uids.next().value!, record, authorship) : merge(known.advisory, record, authorship);
    const reason = isBeyondRights(known?.advisory, record, authorship) ? WITHDRAWN : after === undefined ? undefined : problemOf(after);
    if (reason !== undefined) refused.push({ file, position, reason: `${record.advisoryId} of ${record.artifactName}: ${reason}` });
    else if (after !== undefined) changes.push({ before: known?.row, after });
  }
  await storeAdvisories(db, changes);
  const created = changes.filter(({ before }) => before === undefined).length;
  return { created, updated: changes.length - created, refused };
}

const WITHDRAWN = "its source withdrew it, and whoever imports this may not delete advisories: it is left as it is";

/** What the API would refuse, it would not let anybody change later either. */
function problemOf(advisory: Advisory): string | undefined {
  const [first] = advisoryViolations(advisory);
  if (first !== undefined) return `${first.field}: ${first.description}`;
  // To know exactly how large it is takes as long as storing it.
  if (advisory.events.length * LARGE_EVENT < LARGE_ADVISORY && advisory.events.every(({ type }) => noteLength(type) < LARGE_EVENT))
    return undefined;
  return sizeViolations(advisory, advisoryRow(advisory))[0]?.description;
}

const LARGE_ADVISORY = 100_000;
const LARGE_EVENT = 4000;

function noteLength(type: Advisory["events"][number]["type"]): number {
  return type.value !== undefined && "note" in type.value ? type.value.note.length : 0;
}
