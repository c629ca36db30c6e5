/**
 * A library holds the packages of one ecosystem in one group. This file finds it by its owner's name and checks the
 * caller's capabilities.
 */
import { capabilityName } from "@holt/api";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { Access } from "../access/capabilities.ts";
import { capabilitiesIn, capabilitySet } from "../access/capability-set.ts";
import { isAnonymous, type Principal } from "../access/principal.ts";
import { AmbiguousName, findNamedGroup } from "../api/resource/named-groups.ts";
import type { ReadDb } from "../db/store.ts";
import { HoltError, invalidArgument, notFound, permissionDenied, unauthenticated } from "../lib/errors.ts";

export interface Library {
  readonly groupUid: string;
  readonly ecosystem: Ecosystem;
}

/** A library that is read. */
export interface OpenLibrary extends Library {
  /** The caller reads it with the rights that everybody has, and must not learn about people. */
  readonly isPublicRead: boolean;
}

export interface LibraryCaller {
  readonly principal: Principal;
  /** The current capabilities of the principal, narrowed by its token. */
  readonly access: Access;
  /** The rights that everybody has. */
  readonly publicAccess: Access;
}

export type LibraryAction = "read" | "publish";

const REQUIRED: ReadonlyMap<Ecosystem, Readonly<Record<LibraryAction, bigint>>> = new Map([
  [
    Ecosystem.PYTHON,
    { read: capabilitySet([Capability.CAP_LIBRARIES_PYTHON_LIST]), publish: capabilitySet([Capability.CAP_LIBRARIES_PYTHON_CREATE]) },
  ],
  [
    Ecosystem.JAVA,
    { read: capabilitySet([Capability.CAP_LIBRARIES_JAVA_LIST]), publish: capabilitySet([Capability.CAP_LIBRARIES_JAVA_CREATE]) },
  ],
]);

/** Far longer than any real path of group names. */
const MAX_OWNER_LENGTH = 1200;

export interface LibraryRequest {
  /** The group as the path names it. */
  readonly owner: string;
  readonly ecosystem: Ecosystem;
  readonly action: LibraryAction;
}

/**
 * Opens the library of the group that a path names: `my-org`, or `my-org:team-a` for a folder. Uids and their parts work as names. For
 * reading, the rights that everybody has count where the caller's own do not suffice.
 * @throws NOT_FOUND, with one message, if there is no such group or the caller has no capability for the ecosystem
 * there; PERMISSION_DENIED; INVALID_ARGUMENT if the name matches several groups; for anonymous callers UNAUTHENTICATED instead
 */
export async function openLibrary(db: ReadDb, caller: LibraryCaller, request: LibraryRequest): Promise<OpenLibrary> {
  const { ecosystem, action } = request;
  if (isAnonymous(caller.principal)) {
    const groupUid = await findPublicLibrary(db, caller, request);
    if (groupUid === undefined) throw unauthenticated("log in: there is no such public library, or it needs a login to change it");
    return { groupUid, ecosystem, isPublicRead: true };
  }
  try {
    return { ...(await openOwnLibrary(db, caller, request)), isPublicRead: false };
  } catch (refusal) {
    const groupUid = refusal instanceof HoltError && action === "read" ? await findPublicLibrary(db, caller, request) : undefined;
    if (groupUid === undefined) throw refusal;
    return { groupUid, ecosystem, isPublicRead: true };
  }
}

/** By the caller's own rights. */
async function openOwnLibrary(db: ReadDb, { access }: LibraryCaller, { owner, ecosystem, action }: LibraryRequest): Promise<Library> {
  const groupUid = await findOwner(db, owner, access);
  const required = REQUIRED.get(ecosystem);
  if (groupUid === undefined || required === undefined || (access.capabilitiesAt(groupUid) & (required.read | required.publish)) === 0n)
    throw notFound("Library", owner.slice(0, 200));
  const missing = required[action] & ~access.capabilitiesAt(groupUid);
  if (missing === 0n) return { groupUid, ecosystem };
  const names = capabilitiesIn(missing).map((capability) => capabilityName(capability));
  throw permissionDenied(`${names.join(", ")} is required at ${groupUid}`, { capability: names.join(","), resource: groupUid });
}

/** By the rights that everybody has. @returns undefined also for changes, and for a name that is ambiguous to the caller */
async function findPublicLibrary(
  db: ReadDb,
  { principal, access, publicAccess }: LibraryCaller,
  { owner, ecosystem, action }: LibraryRequest,
): Promise<string | undefined> {
  const needed = REQUIRED.get(ecosystem)?.[action];
  if (needed === undefined || !publicAccess.hasAny()) return undefined;
  const visible = isAnonymous(principal) ? publicAccess : access.withPublic(publicAccess);
  const groupUid = await findOwner(db, owner, visible).catch((error: unknown) => {
    if (error instanceof HoltError) return undefined;
    throw error;
  });
  return groupUid !== undefined && publicAccess.holds(needed, groupUid) ? groupUid : undefined;
}

async function findOwner(db: ReadDb, owner: string, access: Access): Promise<string | undefined> {
  if (owner.length > MAX_OWNER_LENGTH) return undefined;
  return findNamedGroup(db, owner.split(":"), access).catch((error: unknown) => {
    throw error instanceof AmbiguousName ? invalidArgument("owner", error.message) : error;
  });
}
