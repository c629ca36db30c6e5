/**
 * Finds the repo of a request and checks the caller's rights. Rights are evaluated at every use; a registry
 * token can only narrow them.
 */
import { capabilityName } from "@holt/api";
import { capabilitiesIn } from "../access/capability-set.ts";
import { isAnonymous } from "../access/principal.ts";
import type { ReadDb, Store } from "../db/store.ts";
import type { ContentCaller } from "../iam/content-login/content-callers.ts";
import { createRepo, type PushRepo, type RepoCreationParts } from "./content/create-repo.ts";
import type { Origin } from "./content/oci-events.ts";
import { findPlace, findRepository, type MissingRepo, type RepositoryTarget } from "./names.ts";
import { OciError } from "./oci-error.ts";
import { isWithinLimit } from "./repository-limit.ts";
import { ANY_OF_REPO, rights } from "./rights.ts";
import { assertInScope, InsufficientScope, type RegistryAction } from "./token-scope.ts";

export interface RepoRequest {
  /** Name of the repository as the client wrote it. */
  readonly name: string;
  readonly action: RegistryAction;
  /** Capabilities at the repo. */
  readonly needed: bigint;
  /** Whether the rights that everybody has do not suffice. */
  readonly needsOwnRights?: true;
}

export interface PushRequest {
  readonly name: string;
  readonly caller: ContentCaller;
  readonly origin: Origin;
  readonly now: Date;
}

/**
 * Finds an existing repo: by the caller's own rights, and otherwise by those that everybody has, unless the request needs own rights.
 * @throws OciError NAME_UNKNOWN, with the same message whether the repo does not exist or the caller holds no right to
 * repos at it; DENIED; InsufficientScope, which is the only one for anonymous callers
 */
export async function openRepo(db: ReadDb, caller: ContentCaller, request: RepoRequest): Promise<string> {
  return openFound(await findAllowed(db, caller, request.name), db, caller, request);
}

/** @param own the target that the caller's own rights show */
async function openFound(own: RepositoryTarget | undefined, db: ReadDb, caller: ContentCaller, request: RepoRequest): Promise<string> {
  if (request.needsOwnRights === undefined && !isHeld(own, caller, request)) {
    const publicUid = await findPublicRepo(db, caller, request);
    if (publicUid !== undefined) {
      assertInScope(caller, request.name, request.action);
      return publicUid;
    }
  }
  return authorizeRepo(own, caller, request);
}

function isHeld(target: RepositoryTarget | undefined, { access }: ContentCaller, { needed }: Pick<RepoRequest, "needed">): boolean {
  return target?.repoUid !== undefined && access.holds(needed, target.repoUid);
}

/** A public repository that the caller's own rights do not show; undefined for a name that is ambiguous to the caller. */
async function findPublicRepo(
  db: ReadDb,
  { principal, access, publicAccess }: ContentCaller,
  { name, needed }: Pick<RepoRequest, "name" | "needed">,
): Promise<string | undefined> {
  if (isAnonymous(principal) || !publicAccess.hasAny()) return undefined;
  const target = await findRepository(db, name, access.withPublic(publicAccess)).catch((error: unknown) => {
    if (error instanceof OciError) return undefined;
    throw error;
  });
  return target?.repoUid !== undefined && publicAccess.holds(needed, target.repoUid) ? target.repoUid : undefined;
}

/** A repository that a pull token does not name does not exist for it. */
async function findAllowed(db: ReadDb, caller: ContentCaller, name: string): Promise<RepositoryTarget | undefined> {
  const target = await findRepository(db, name, caller.access);
  return target !== undefined && (await isWithinLimit(db, target, caller)) ? target : undefined;
}

/**
 * The same, but undefined if the repo does not exist and the caller holds the capabilities at its group, so that it
 * would see the repo.
 */
export async function openRepoIfAny(db: ReadDb, caller: ContentCaller, request: RepoRequest): Promise<string | undefined> {
  const { name, action, needed } = request;
  const target = await findAllowed(db, caller, name);
  const isMissing = target !== undefined && target.repoUid === undefined && caller.access.holds(needed, target.groupUid);
  if (!isMissing) return openFound(target, db, caller, request);
  assertInScope(caller, name, action);
  return undefined;
}

function authorizeRepo(target: RepositoryTarget | undefined, caller: ContentCaller, request: RepoRequest): string {
  const { name, action, needed } = request;
  // The same answer for all that is not public. Clients then ask for a login.
  if (isAnonymous(caller.principal) && !isHeld(target, caller, request))
    throw new InsufficientScope({ type: "repository", name, action }, `log in: there is no public repository ${name}`);
  if (target?.repoUid === undefined || !mayKnow(caller, target.repoUid))
    throw new OciError("NAME_UNKNOWN", `there is no repository ${name}${hintOf(name)}`);
  assertHolds(caller, target.repoUid, needed);
  assertInScope(caller, name, action);
  return target.repoUid;
}

/** Rights to other things, such as the packages of the group, do not show which repos it has. */
function mayKnow({ access }: ContentCaller, uid: string): boolean {
  return (access.capabilitiesAt(uid) & ANY_OF_REPO) !== 0n;
}

/** Explains a name without an organization, which people know from registries that have a default one. */
function hintOf(name: string): string {
  return name.includes("/") ? "" : `; a name begins with an organization, as in my-org/${name}`;
}

/**
 * Finds the repo to push into, or the place where the first content creates it.
 * @throws OciError DENIED, with the same message whether or not the repo exists; InsufficientScope
 */
export async function openRepoForPush({ name, caller, origin, now }: PushRequest, parts: PushParts): Promise<PushRepo> {
  const { reader } = parts.store;
  const target = await findPlace(reader, name, caller.access);
  if (target === undefined || !(await isWithinLimit(reader, target, caller)) || !mayKnow(caller, target.repoUid ?? target.groupUid))
    throw new OciError("DENIED", `you may not push to ${name}${hintOf(name) || "; its organization and folders must exist"}`);
  assertHolds(caller, target.repoUid ?? target.groupUid, neededToPush(target, parts));
  if (target.repoUid === undefined && !isCreatable(target, parts)) throw missingFolder(name, target);
  assertInScope(caller, name, "push");
  return target.repoUid ?? ((db) => createRepo(db, { ...target, origin, now }, parts));
}

export interface PushParts extends RepoCreationParts {
  readonly store: Store;
}

/** The capabilities that a push needs at the repo, or at the group below which the repo and its folders are created. */
function neededToPush(target: RepositoryTarget, parts: Pick<PushParts, "createFolder">): bigint {
  if (target.repoUid !== undefined) return rights.push;
  const needsFolder = target.folders.length > 0 && parts.createFolder !== undefined;
  return rights.push | rights.createRepo | (needsFolder ? rights.createFolder : 0n);
}

function isCreatable({ folders }: MissingRepo, { createFolder }: Pick<PushParts, "createFolder">): boolean {
  return folders.length === 0 || createFolder !== undefined;
}

/** The caller holds rights at the group, so it may know which folders the group contains. */
function missingFolder(name: string, { folders }: MissingRepo): OciError {
  const missing = name.split("/").slice(0, -folders.length).join("/");
  return new OciError("DENIED", `the folder ${missing} does not exist; create it first, as pushes to this server create no folders`, {
    missing,
  });
}

export interface WantedActions {
  readonly name: string;
  readonly caller: ContentCaller;
  readonly wanted: readonly string[];
}

/** The subset of the requested actions that the caller may do now: the scope of its new token. */
export async function allowedActions(request: WantedActions, parts: Pick<PushParts, "store" | "createFolder">): Promise<RegistryAction[]> {
  const { name, caller, wanted } = request;
  const own = await ownActions(request, parts);
  if (own.includes("pull") || !isWanted("pull", wanted)) return own;
  const publicUid = await findPublicRepo(parts.store.reader, caller, { name, needed: rights.pullManifest });
  return publicUid === undefined ? own : ["pull", ...own];
}

function isWanted(action: RegistryAction, wanted: readonly string[]): boolean {
  return wanted.includes(action) || wanted.includes("*");
}

async function ownActions(
  { name, caller, wanted }: WantedActions,
  parts: Pick<PushParts, "store" | "createFolder">,
): Promise<RegistryAction[]> {
  const { access } = caller;
  const { reader } = parts.store;
  const target = await findPlace(reader, name, access).catch((error: unknown) => {
    if (error instanceof OciError) return undefined;
    throw error;
  });
  if (
    target === undefined ||
    !(await isWithinLimit(reader, target, caller)) ||
    (target.repoUid === undefined && !isCreatable(target, parts))
  )
    return [];
  const at = target.repoUid ?? target.groupUid;
  const needed: Record<RegistryAction, bigint> = {
    pull: rights.pullManifest,
    push: neededToPush(target, parts),
    delete: rights.deleteManifest,
  };
  return (["pull", "push", "delete"] as const).filter((action) => isWanted(action, wanted) && access.holds(needed[action], at));
}

function assertHolds({ access }: ContentCaller, uid: string, needed: bigint): void {
  if (access.holds(needed, uid)) return;
  const missing = capabilitiesIn(needed & ~access.capabilitiesAt(uid)).map((capability) => capabilityName(capability));
  const verb = missing.length === 1 ? "is" : "are";
  throw new OciError("DENIED", `${missing.join(", ")} ${verb} needed at ${uid}`, { capability: missing.join(","), resource: uid });
}
