/** A library: one group's packages of one ecosystem. Where it is, and what one must hold to use it. */
import { capabilityName } from "@holt/api";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { Access } from "../access/capabilities.ts";
import { capabilitiesIn, capabilitySet } from "../access/capability-set.ts";
import type { Principal } from "../access/principal.ts";
import { AmbiguousName, findNamedGroup } from "../api/resource/named-groups.ts";
import type { ReadDb } from "../db/store.ts";
import { invalidArgument, notFound, permissionDenied } from "../lib/errors.ts";

export interface Library {
  readonly groupUid: string;
  readonly ecosystem: Ecosystem;
}

export interface LibraryCaller {
  readonly principal: Principal;
  /** Live, and narrowed by what the token leaves. */
  readonly access: Access;
}

export type LibraryAction = "read" | "publish";

const NEEDED: ReadonlyMap<Ecosystem, Readonly<Record<LibraryAction, bigint>>> = new Map([
  [
    Ecosystem.PYTHON,
    { read: capabilitySet([Capability.CAP_LIBRARIES_PYTHON_LIST]), publish: capabilitySet([Capability.CAP_LIBRARIES_PYTHON_CREATE]) },
  ],
  [
    Ecosystem.JAVA,
    { read: capabilitySet([Capability.CAP_LIBRARIES_JAVA_LIST]), publish: capabilitySet([Capability.CAP_LIBRARIES_JAVA_CREATE]) },
  ],
]);

/** Far longer than the names of any real path of groups. */
const MAX_OWNER = 1200;

/**
 * The library of the group that a path names: `my-org`, or with folders `my-org:team-a`; uids and parts of them stand for names, too.
 * @throws NOT_FOUND where there is no such group or the caller holds nothing of that ecosystem there, in the same words; PERMISSION_DENIED;
 * INVALID_ARGUMENT where the name stands for several groups
 */
export async function openLibrary(
  db: ReadDb,
  owner: string,
  ecosystem: Ecosystem,
  { access }: LibraryCaller,
  action: LibraryAction,
): Promise<Library> {
  const groupUid = owner.length > MAX_OWNER ? undefined : await findOwner(db, owner, access);
  const needed = NEEDED.get(ecosystem);
  if (groupUid === undefined || needed === undefined || (access.capabilitiesAt(groupUid) & (needed.read | needed.publish)) === 0n)
    throw notFound("Library", owner.slice(0, 200));
  const missing = needed[action] & ~access.capabilitiesAt(groupUid);
  if (missing === 0n) return { groupUid, ecosystem };
  const names = capabilitiesIn(missing).map((capability) => capabilityName(capability));
  throw permissionDenied(`${names.join(", ")} is needed at ${groupUid}`, { capability: names.join(","), resource: groupUid });
}

function findOwner(db: ReadDb, owner: string, access: Access): Promise<string | undefined> {
  return findNamedGroup(db, owner.split(":"), access).catch((error: unknown) => {
    throw error instanceof AmbiguousName ? invalidArgument("owner", error.message) : error;
  });
}
