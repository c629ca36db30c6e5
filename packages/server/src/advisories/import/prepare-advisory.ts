/**
 * Derives from a record everything that is stored for a new advisory. The reading thread does this, because it takes as
 * long as the reading itself.
 */
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { advisoryViolations, sizeViolations } from "../model/advisory-rules.ts";
import type { StoredAffected } from "../storage/affected.ts";
import { aboutOf, type DerivedAdvisory, deriveAdvisory } from "../storage/derive.ts";
import { type Authorship, advisoryFromRecord } from "./merge-advisory.ts";
import { changedAffected } from "./merge-affected.ts";
import { newNeighboringUids } from "./neighboring-uids.ts";
import type { AdvisoryRecord, Located } from "./record.ts";

/** The rows of an advisory, or the reason why the API would refuse it: an advisory that breaks its rules could not be changed later. */
export type Prepared = { readonly derived: DerivedAdvisory } | { readonly problem: string };

export type NewAffected = Omit<StoredAffected, "advisory_uid">;

export interface PreparedRecord extends Located<AdvisoryRecord> {
  /** The key of the advisory in its group (derive.ts). */
  readonly about: string;
  /** The rows of a new advisory, with a placeholder for the time of its creation. */
  readonly newAdvisory: Prepared;
  /** Its affected versions, if the record lists them. */
  readonly newAffected: NewAffected | undefined;
}

/** A placeholder for the time of storing. No event has it, because times before 1970 are refused. */
const PLACEHOLDER_TIME = new Date("0001-01-01T00:00:00.000Z");

/** Sorted by `about`, so that neighbors in one index are neighbors in the others. */
export function prepareRecords(
  records: readonly Located<AdvisoryRecord>[],
  parent: string,
  authorship: Omit<Authorship, "now">,
): readonly PreparedRecord[] {
  const keyed = records.map((located) => ({ located, about: aboutOfRecord(located.record) }));
  const uids = newNeighboringUids(parent, records.length);
  return keyed
    .sort((a, b) => (a.about < b.about ? -1 : 1))
    .map(({ located, about }, index) => ({ ...located, about, ...prepareNew(uids[index]!, located.record, authorship) }));
}

export function prepareNew(
  uid: string,
  record: AdvisoryRecord,
  authorship: Omit<Authorship, "now">,
): Pick<PreparedRecord, "newAdvisory" | "newAffected"> {
  const advisory = advisoryFromRecord(uid, record, { ...authorship, now: PLACEHOLDER_TIME });
  return { newAdvisory: prepare(advisory), newAffected: changedAffected(undefined, record, authorship) };
}

export function prepare(advisory: Advisory): Prepared {
  const [first] = advisoryViolations(advisory);
  if (first !== undefined) return { problem: `${first.field}: ${first.description}` };
  const derived = deriveAdvisory(advisory);
  const [tooLarge] = sizeViolations(advisory, derived.row);
  return tooLarge === undefined ? { derived } : { problem: tooLarge.description };
}

/** Replaces the placeholder by the time of storing. */
export function withCreationTime({ row, ...links }: DerivedAdvisory, now: Date): DerivedAdvisory {
  const time = now.toISOString();
  // A string value cannot match, because its quotes would be escaped.
  const body = row.body.replace(PLACEHOLDER_TIMES, timesJson(time));
  if (body.length !== row.body.length) throw new Error(`the times of advisory ${row.uid} cannot be set`);
  return { ...links, row: { ...row, create_time: time, update_time: time, body } };
}

function timesJson(time: string): string {
  return `"createTime":"${time}","updateTime":"${time}"`;
}

const PLACEHOLDER_TIMES = timesJson(PLACEHOLDER_TIME.toISOString());

function aboutOfRecord(record: AdvisoryRecord): string {
  // A record has all fields that `aboutOf` reads.
  return aboutOf(record as unknown as Advisory);
}
