/** The repo behind a request, if the caller may do there what it asks for. Rights are looked at as they stand now, at every use; a token only narrows them. */
import { create as createMessage } from "@bufbuild/protobuf";
import { capabilityName } from "@holt/api";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { Access } from "../access/capabilities.ts";
import { capabilitiesIn } from "../access/capability-set.ts";
import type { Principal } from "../access/principal.ts";
import { assertGroupExists, insert, isDuplicate } from "../api/resource/write.ts";
import type { ReadDb, Store } from "../db/store.ts";
import { newUid } from "../lib/uid.ts";
import { appendRepoCreated, type Origin, type RegistryNames } from "./content/oci-events.ts";
import { findPlace, type Place } from "./names.ts";
import { OciError } from "./oci-error.ts";
import { repos } from "./resources.ts";
import { rights } from "./rights.ts";

/** What a token's scope can name. */
export type RegistryAction = "pull" | "push" | "delete";

export interface RegistryCaller {
  readonly principal: Principal;
  /** Live, and narrowed by what the token leaves. */
  readonly access: Access;
}

/** The identity may, but its token was made for less: another one would do. */
export class InsufficientScope extends OciError {
  readonly repository: string;
  readonly action: RegistryAction;
  constructor(repository: string, action: RegistryAction) {
    super("UNAUTHORIZED", `the token is not for ${action} of ${repository}`);
    this.repository = repository;
    this.action = action;
  }
}

/**
 * A repo that is there.
 * @param needed capabilities at the repo
 * @throws OciError NAME_UNKNOWN where there is no such repo or the caller holds nothing at it, in the same words; DENIED; InsufficientScope
 */
export async function openRepo(db: ReadDb, name: string, caller: RegistryCaller, action: RegistryAction, needed: bigint): Promise<string> {
  return openAt(await findPlace(db, name, caller.access), name, caller, action, needed);
}

/** The same, but undefined where there is none and the caller would see it if there were: who holds what is needed at its group. */
export async function openRepoIfAny(
  db: ReadDb,
  name: string,
  caller: RegistryCaller,
  action: RegistryAction,
  needed: bigint,
): Promise<string | undefined> {
  const place = await findPlace(db, name, caller.access);
  const isMissing = place !== undefined && place.repoUid === undefined && caller.access.holds(needed, place.groupUid);
  if (!isMissing) return openAt(place, name, caller, action, needed);
  assertInScope(caller, name, action);
  return undefined;
}

function openAt(place: Place | undefined, name: string, caller: RegistryCaller, action: RegistryAction, needed: bigint): string {
  if (place?.repoUid === undefined || caller.access.capabilitiesAt(place.repoUid) === 0n)
    throw new OciError("NAME_UNKNOWN", `there is no repository ${name}`);
  assertHolds(caller, place.repoUid, needed);
  assertInScope(caller, name, action);
  return place.repoUid;
}

/**
 * A repo to push into, made where there is none and the caller may make one.
 * @throws OciError DENIED where the caller may not, in the same words whether there is one; InsufficientScope
 */
export async function openRepoForPush(
  name: string,
  caller: RegistryCaller,
  origin: Origin,
  now: Date,
  { store, names }: { readonly store: Store; readonly names: RegistryNames },
): Promise<string> {
  const place = await findPlace(store.reader, name, caller.access);
  if (place === undefined || caller.access.capabilitiesAt(place.repoUid ?? place.groupUid) === 0n)
    throw new OciError("DENIED", `you may not push to ${name}; its organization and folders must be there, too`);
  assertHolds(caller, place.repoUid ?? place.groupUid, neededToPush(place));
  assertInScope(caller, name, "push");
  return place.repoUid ?? (await makeRepo(place, origin, now, store, names));
}

function neededToPush(place: Place): bigint {
  return place.repoUid === undefined ? rights.push | rights.createRepo : rights.push;
}

async function makeRepo(
  { groupUid, name }: { readonly groupUid: string; readonly name: string },
  origin: Origin,
  now: Date,
  store: Store,
  names: RegistryNames,
): Promise<string> {
  try {
    return await store.transaction(async (db) => {
      await assertGroupExists(groupUid, db);
      const repo = createMessage(RepoSchema, { name });
      await insert(repos, newUid(groupUid), repo, { now, db });
      await appendRepoCreated(db, repo, origin, now, names);
      return repo.uid;
    });
  } catch (error) {
    // A client pushes the layers of one image at once, and each of them may be the first.
    if (!isDuplicate(error)) throw error;
    const query = store.reader.selectFrom("repo").select("uid").where("parent", "=", groupUid).where("name", "=", name);
    return (await query.executeTakeFirstOrThrow()).uid;
  }
}

/** Of the actions that a client asks for, those that would be allowed now: what a token is made for. */
export async function allowedActions(
  db: ReadDb,
  name: string,
  { access }: RegistryCaller,
  wanted: readonly string[],
): Promise<RegistryAction[]> {
  const place = await findPlace(db, name, access).catch((error: unknown) => {
    if (error instanceof OciError) return undefined;
    throw error;
  });
  if (place === undefined) return [];
  const at = place.repoUid ?? place.groupUid;
  const needed: Record<RegistryAction, bigint> = { pull: rights.pullManifest, push: neededToPush(place), delete: rights.deleteManifest };
  const asksFor = (action: RegistryAction) => wanted.includes(action) || wanted.includes("*");
  return (["pull", "push", "delete"] as const).filter((action) => asksFor(action) && access.holds(needed[action], at));
}

function assertHolds({ access }: RegistryCaller, uid: string, needed: bigint): void {
  if (access.holds(needed, uid)) return;
  const missing = capabilitiesIn(needed & ~access.capabilitiesAt(uid)).map((capability) => capabilityName(capability));
  const verb = missing.length === 1 ? "is" : "are";
  throw new OciError("DENIED", `${missing.join(", ")} ${verb} needed at ${uid}`, { capability: missing.join(","), resource: uid });
}

function assertInScope({ principal: { registryAccess } }: RegistryCaller, name: string, action: RegistryAction): void {
  if (registryAccess === undefined) return;
  const allowed = registryAccess.some((entry) => entry.type === "repository" && entry.name === name && entry.actions.includes(action));
  if (!allowed) throw new InsufficientScope(name, action);
}
