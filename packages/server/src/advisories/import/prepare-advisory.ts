/** From a record to all that is stored of it where it is new. Reading prepares it, ahead of whoever writes: it takes as long as the reading itself. */
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { advisoryViolations, sizeViolations } from "../model/advisory-rules.ts";
import { aboutOf, type DerivedAdvisory, deriveAdvisory } from "../storage/derive.ts";
import { type Authorship, advisoryFromRecord } from "./merge-advisory.ts";
import { neighbouringUids } from "./neighbouring-uids.ts";
import type { AdvisoryRecord, Placed } from "./record.ts";

/** Or what the API would refuse of it: it would not let anybody change that later either. */
export type Prepared = { readonly derived: DerivedAdvisory } | { readonly problem: string };

export interface PreparedRecord extends Placed<AdvisoryRecord> {
  /** By which it is known again (derive.ts). */
  readonly about: string;
  /** As a new advisory, without the times of its creation. */
  readonly fresh: Prepared;
}

/** Stands for the time at which it will be stored. No event has it: they are not of times before 1970. */
const UNKNOWN_TIME = new Date("0001-01-01T00:00:00.000Z");

/** In the order of what they are about, so that neighbours in one index are neighbours in the others. */
export function prepareRecords(
  records: readonly Placed<AdvisoryRecord>[],
  parent: string,
  authorship: Omit<Authorship, "now">,
): readonly PreparedRecord[] {
  const known = records.map((placed) => ({ placed, about: aboutOfRecord(placed.record) }));
  const uids = neighbouringUids(parent, records.length);
  return known
    .sort((a, b) => (a.about < b.about ? -1 : 1))
    .map(({ placed, about }, index) => ({ ...placed, about, fresh: prepareNew(uids[index]!, placed.record, authorship) }));
}

export function prepareNew(uid: string, record: AdvisoryRecord, authorship: Omit<Authorship, "now">): Prepared {
  return prepare(advisoryFromRecord(uid, record, { ...authorship, now: UNKNOWN_TIME }));
}

export function prepare(advisory: Advisory): Prepared {
  const [first] = advisoryViolations(advisory);
  if (first !== undefined) return { problem: `${first.field}: ${first.description}` };
  const derived = deriveAdvisory(advisory);
  const [large] = sizeViolations(advisory, derived.row);
  return large === undefined ? { derived } : { problem: large.description };
}

/** With the time at which it is stored. */
export function stamped({ row, ...links }: DerivedAdvisory, now: Date): DerivedAdvisory {
  const time = now.toISOString();
  // Of a text within, the quotes would be escaped.
  const body = row.body.replace(TIMES, timesText(time));
  if (body.length !== row.body.length) throw new Error(`${row.uid}: an advisory whose times cannot be set`);
  return { ...links, row: { ...row, create_time: time, update_time: time, body } };
}

function timesText(time: string): string {
  return `"createTime":"${time}","updateTime":"${time}"`;
}

const TIMES = timesText(UNKNOWN_TIME.toISOString());

function aboutOfRecord(record: AdvisoryRecord): string {
  // As far as it looks, a record has all that an advisory has.
  return aboutOf(record as unknown as Advisory);
}
