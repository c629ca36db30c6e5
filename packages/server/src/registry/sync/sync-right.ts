/**
 * Whether a synced repo may still read its source. A sync from another organization acts for the identity that set the
 * source, with the rights that the identity has at each use.
 */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import type { Grants } from "../../iam/grants/grants.ts";
import { rootOf } from "../../lib/uid.ts";

/** The capability that a caller needs at the source. */
export const LIST_REPOS = capabilitySet([Capability.CAP_REPO_LIST]);

/** Repos in a chain of sources. Two concurrent writers could close a circle; this bound ends a walk along it. */
export const MAX_CHAIN_LENGTH = 100;

export interface Follower {
  /** Uid of the synced repo. */
  readonly uid: string;
  readonly source: string;
  /** Uid of the identity that set the source; null if that is not recorded. */
  readonly source_by: string | null;
}

export type SyncGrants = Pick<Grants, "load">;

export async function mayFollow({ uid, source, source_by }: Follower, grants: SyncGrants): Promise<boolean> {
  if (rootOf(uid) === rootOf(source)) return true;
  if (source_by === null) return false;
  const { exists, access } = await grants.load(source_by);
  return exists && access.holds(LIST_REPOS, source);
}
