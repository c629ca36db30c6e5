/**
 * Finds or creates the repo of a request and checks the caller's rights. Rights are evaluated at every use; a registry
 * token can only narrow them.
 */
import { create as createMessage } from "@bufbuild/protobuf";
import { capabilityName } from "@holt/api";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { capabilitiesIn } from "../access/capability-set.ts";
import { assertGroupExists, insert, isDuplicate } from "../api/resource/write.ts";
import type { ReadDb, Store } from "../db/store.ts";
import type { ContentCaller } from "../iam/content-login/authenticate.ts";
import { newUid } from "../lib/uid.ts";
import { appendRepoCreated, type Origin, type RegistryNames } from "./content/oci-events.ts";
import { findRepository, type RepositoryTarget } from "./names.ts";
import { OciError } from "./oci-error.ts";
import { repos } from "./resources.ts";
import { rights } from "./rights.ts";
import { assertInScope, type RegistryAction } from "./token-scope.ts";

export interface RepoRequest {
  /** Name of the repository as the client wrote it. */
  readonly name: string;
  readonly action: RegistryAction;
  /** Capabilities at the repo. */
  readonly needed: bigint;
}

export interface PushRequest {
  readonly name: string;
  readonly caller: ContentCaller;
  readonly origin: Origin;
  readonly now: Date;
}

/**
 * Finds an existing repo.
 * @throws OciError NAME_UNKNOWN, with the same message whether the repo does not exist or the caller holds nothing at
 * it; DENIED; InsufficientScope
 */
export async function openRepo(db: ReadDb, caller: ContentCaller, request: RepoRequest): Promise<string> {
  return authorizeRepo(await findRepository(db, request.name, caller.access), caller, request);
}

/**
 * The same, but undefined if the repo does not exist and the caller holds the capabilities at its group, so that it
 * would see the repo.
 */
export async function openRepoIfAny(db: ReadDb, caller: ContentCaller, request: RepoRequest): Promise<string | undefined> {
  const { name, action, needed } = request;
  const target = await findRepository(db, name, caller.access);
  const isMissing = target !== undefined && target.repoUid === undefined && caller.access.holds(needed, target.groupUid);
  if (!isMissing) return authorizeRepo(target, caller, request);
  assertInScope(caller, name, action);
  return undefined;
}

function authorizeRepo(target: RepositoryTarget | undefined, caller: ContentCaller, request: RepoRequest): string {
  const { name, action, needed } = request;
  if (target?.repoUid === undefined || caller.access.capabilitiesAt(target.repoUid) === 0n)
    throw new OciError("NAME_UNKNOWN", `there is no repository ${name}`);
  assertHolds(caller, target.repoUid, needed);
  assertInScope(caller, name, action);
  return target.repoUid;
}

/**
 * Finds the repo to push into, or creates it if the caller may.
 * @throws OciError DENIED, with the same message whether or not the repo exists; InsufficientScope
 */
export async function openRepoForPush(
  { name, caller, origin, now }: PushRequest,
  { store, names }: { readonly store: Store; readonly names: RegistryNames },
): Promise<string> {
  const target = await findRepository(store.reader, name, caller.access);
  if (target === undefined || caller.access.capabilitiesAt(target.repoUid ?? target.groupUid) === 0n)
    throw new OciError("DENIED", `you may not push to ${name}; its organization and folders must exist`);
  assertHolds(caller, target.repoUid ?? target.groupUid, neededToPush(target));
  assertInScope(caller, name, "push");
  return target.repoUid ?? (await createRepo({ ...target, origin, now }, store, names));
}

function neededToPush(target: RepositoryTarget): bigint {
  return target.repoUid === undefined ? rights.push | rights.createRepo : rights.push;
}

interface RepoCreation {
  readonly groupUid: string;
  readonly name: string;
  readonly origin: Origin;
  readonly now: Date;
}

async function createRepo({ groupUid, name, origin, now }: RepoCreation, store: Store, names: RegistryNames): Promise<string> {
  try {
    return await store.transaction(async (db) => {
      await assertGroupExists(groupUid, db);
      const repo = createMessage(RepoSchema, { name });
      await insert(repos, newUid(groupUid), repo, { now, db });
      await appendRepoCreated(db, { repo, origin, now }, names);
      return repo.uid;
    });
  } catch (error) {
    // Clients push the layers of an image concurrently, so another request may have created the repo.
    if (!isDuplicate(error)) throw error;
    const query = store.reader.selectFrom("repo").select("uid").where("parent", "=", groupUid).where("name", "=", name);
    return (await query.executeTakeFirstOrThrow()).uid;
  }
}

/** The subset of the requested actions that the caller may do now: the scope of its new token. */
export async function allowedActions(
  db: ReadDb,
  name: string,
  { access }: ContentCaller,
  wanted: readonly string[],
): Promise<RegistryAction[]> {
  const target = await findRepository(db, name, access).catch((error: unknown) => {
    if (error instanceof OciError) return undefined;
    throw error;
  });
  if (target === undefined) return [];
  const at = target.repoUid ?? target.groupUid;
  const needed: Record<RegistryAction, bigint> = { pull: rights.pullManifest, push: neededToPush(target), delete: rights.deleteManifest };
  const asksFor = (action: RegistryAction) => wanted.includes(action) || wanted.includes("*");
  return (["pull", "push", "delete"] as const).filter((action) => asksFor(action) && access.holds(needed[action], at));
}

function assertHolds({ access }: ContentCaller, uid: string, needed: bigint): void {
  if (access.holds(needed, uid)) return;
  const missing = capabilitiesIn(needed & ~access.capabilitiesAt(uid)).map((capability) => capabilityName(capability));
  const verb = missing.length === 1 ? "is" : "are";
  throw new OciError("DENIED", `${missing.join(", ")} ${verb} needed at ${uid}`, { capability: missing.join(","), resource: uid });
}
