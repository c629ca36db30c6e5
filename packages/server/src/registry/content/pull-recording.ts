/** How pulls are recorded, by the organization that owns the repository. Pure. */
import { rootOf } from "../../lib/uid.ts";

/**
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

export function recordingOf({ general, exceptions }: PullRecordings, repoUid: string): PullRecording {
  return exceptions.get(rootOf(repoUid)) ?? general;
}
