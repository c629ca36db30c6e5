/** How pulls are recorded, by the organization that owns the repository. */
import type { ReadDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";

/**
 * In the order of their detail:
 * - blobs: an event for each pulled manifest and blob;
 * - manifests: an event for each pulled manifest;
 * - hourly: an event per hour for all pulls of a manifest by an identity;
 * - off: no events.
 */
export const PULL_RECORDINGS = ["blobs", "manifests", "hourly", "off"] as const;
export type PullRecording = (typeof PULL_RECORDINGS)[number];

export interface PullRecordings {
  readonly general: PullRecording;
  /** By uid of the organization. */
  readonly exceptions: ReadonlyMap<string, PullRecording>;
}

/** The operator's setting; organizations cannot record more. */
export function recordingOf({ general, exceptions }: PullRecordings, repoUid: string): PullRecording {
  return exceptions.get(rootOf(repoUid)) ?? general;
}

/** Settings of organizations, by uid; an organization without an entry follows the operator. */
export type WantedRecordings = ReadonlyMap<string, PullRecording>;

export async function readWanted(db: ReadDb, repoUids: readonly string[]): Promise<WantedRecordings> {
  const organizations = [...new Set(repoUids.map(rootOf))];
  const among = db.selectFrom(db.dialect.valuesOf(organizations).as("v")).select("v.value");
  const rows = await db.selectFrom("pull_recording").select(["org_uid", "recording"]).where("org_uid", "in", among).execute();
  return new Map(rows.map(({ org_uid, recording }) => [org_uid, recording]));
}

/** The less detailed of what the operator allows and what the organization wants. */
export function effectiveRecording(allowed: PullRecordings, wanted: WantedRecordings, repoUid: string): PullRecording {
  const most = recordingOf(allowed, repoUid);
  const own = wanted.get(rootOf(repoUid)) ?? most;
  return PULL_RECORDINGS.indexOf(own) > PULL_RECORDINGS.indexOf(most) ? own : most;
}
