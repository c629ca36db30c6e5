/** Stores a batch of advisories in one transaction, with all that is derived of them; what is known already costs no write. */
import { type Advisory, AdvisoryEventSchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisorySchema as AdvisoryV2Schema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import type { AdvisoryTable } from "../../db/schema.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { appendToAdvisoryCounts, type CountChange } from "../count.ts";
import { aboutOf, advisoryRow } from "../derive.ts";
import { v1FromV2 } from "../versions.ts";
import { insertAdvisoryRows } from "./advisory-rows.ts";
import type { ImportOptions } from "./import-source.ts";
import { type Authorship, advisoryFromRecord, type Merged, merge } from "./merge-advisory.ts";
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
    const about = aboutOf(asAdvisory(record));
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

/** As far as `aboutOf` looks. */
function asAdvisory({ componentName, componentType, ...record }: AdvisoryRecord): Advisory {
  return { ...record, ...(componentName !== "" && { componentName, componentType }) } as unknown as Advisory;
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
  if (rows.length === 0) return new Map();
  const uids = db.selectFrom(db.dialect.valuesOf(rows.map(({ uid }) => uid)).as("v")).select("v.value");
  const events = await db
    .selectFrom("advisory_event")
    .select(["advisory_uid", "body"])
    .where("advisory_uid", "in", uids)
    .orderBy("advisory_uid")
    .orderBy("create_time")
    .orderBy("uid")
    .execute();
  const byAdvisory = Map.groupBy(events, (event) => event.advisory_uid);
  return new Map(
    rows.map((row) => {
      const own = (byAdvisory.get(row.uid) ?? []).map(({ body }) => messageFromJson(AdvisoryEventSchema, body));
      return [row.about, { row, advisory: v1FromV2(messageFromJson(AdvisoryV2Schema, row.body), own) }];
    }),
  );
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
  const uids = neighbouringUids(parent, abouts.length - stored.size);
  const all: Merged[] = [];
  const changes: CountChange[] = [];
  const rows: AdvisoryTable[] = [];
  for (const about of abouts) {
    const record = records.get(about)!;
    const known = stored.get(about);
    const merged = known === undefined ? advisoryFromRecord(uids.pop()!, record, authorship) : merge(known.advisory, record, authorship);
    if (merged === undefined) continue;
    const row = advisoryRow(merged.advisory);
    all.push(merged);
    rows.push(row);
    changes.push({ before: known?.row, after: row });
  }
  await insertAdvisoryRows(db, rows, all);
  await appendToAdvisoryCounts(db, changes);
  const created = abouts.length - stored.size;
  return { created, updated: rows.length - created };
}
