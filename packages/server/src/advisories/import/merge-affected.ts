/** Decides whether the affected versions of a record replace those that are stored. Pure. */
import { type Advisory, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { type AffectedVersions, encodeAffected } from "../model/affected.ts";
import type { StoredAffected } from "../storage/affected.ts";
import type { Authorship } from "./merge-advisory.ts";
import type { AdvisoryRecord } from "./record.ts";

interface Known {
  readonly advisory: Advisory;
  readonly affected: StoredAffected | undefined;
}

/** The entries of one package, for all releases of a distribution. A later state of the record replaces an earlier one. */
export function joinAffected(one: AffectedVersions | undefined, other: AffectedVersions | undefined): AffectedVersions | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.modified !== other.modified) return one.modified > other.modified ? one : other;
  return { modified: one.modified, entries: [...one.entries, ...other.entries] };
}

/** Undefined if the stored ones stay. */
export function changedAffected(
  known: Known | undefined,
  { affected }: AdvisoryRecord,
  { approves }: Pick<Authorship, "approves">,
): Omit<StoredAffected, "advisory_uid"> | undefined {
  if (affected === undefined) return undefined;
  // The approval of an event covers the versions that were known then.
  if (!approves && known?.advisory.events.some(({ status }) => status === ReviewStatus.APPROVED)) return undefined;
  const next = { modified_time: new Date(affected.modified).toISOString(), entries: encodeAffected(affected.entries) };
  const before = known?.affected;
  if (before === undefined || before.modified_time < next.modified_time) return next;
  if (before.modified_time > next.modified_time) return undefined;
  // The same record: a long one is read in several batches.
  const entries = joinEntries(before.entries, next.entries);
  return entries === before.entries ? undefined : { ...next, entries };
}

function joinEntries(...encoded: readonly string[]): string {
  const entries = encoded.flatMap((text) => JSON.parse(text) as unknown[]).map((entry) => JSON.stringify(entry));
  return `[${[...new Set(entries)].join(",")}]`;
}
