/**
 * Creates a repo, and the folders above it that are missing, in the transaction that stores its first content. So a
 * push that fails leaves nothing behind.
 */
import { create as createMessage } from "@bufbuild/protobuf";
import type { Group } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { type Repo, RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { create, prepareCreate, type WriteContext } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { aborted } from "../../lib/errors.ts";
import type { MissingRepo } from "../names.ts";
import { repos } from "../resources.ts";
import { appendFolderCreated, appendRepoCreated, type Origin, type RegistryNames } from "./oci-events.ts";

/** The repo that content is pushed into: its uid, or a function that finds or creates it in the transaction of the content. */
export type PushRepo = string | ((db: WriteDb) => Promise<string>);

export async function repoUidOf(repo: PushRepo, db: WriteDb): Promise<string> {
  return typeof repo === "string" ? repo : repo(db);
}

export interface RepoCreation extends Omit<MissingRepo, "repoUid"> {
  readonly origin: Origin;
  readonly now: Date;
}

export interface RepoCreationParts {
  readonly names: RegistryNames;
  /** Creates a folder. Undefined if pushes create none. */
  readonly createFolder: ((parent: string, name: string, context: WriteContext) => Promise<Group>) | undefined;
}

/** @returns the uid of the repo, which another push may have created meanwhile @throws INVALID_ARGUMENT, NOT_FOUND, ABORTED */
export async function createRepo(db: WriteDb, creation: RepoCreation, parts: RepoCreationParts): Promise<string> {
  let parent = creation.groupUid;
  for (const folder of creation.folders) parent = await findOrCreateFolder(db, { ...creation, groupUid: parent, name: folder }, parts);
  await lockGroup(db, parent);
  const found = await db.selectFrom("repo").select("uid").where("parent", "=", parent).where("name", "=", creation.name).executeTakeFirst();
  return found?.uid ?? insertRepo(db, parent, creation, parts);
}

async function insertRepo(db: WriteDb, parent: string, { name, origin, now }: RepoCreation, { names }: RepoCreationParts): Promise<string> {
  const repo: Repo = prepareCreate(repos, createMessage(RepoSchema, { name }), now);
  await create({ ...repos, nameTaken }, parent, repo, { now, db });
  await appendRepoCreated(db, { repo, origin, now }, names);
  return repo.uid;
}

/** A server of an earlier version takes another lock. */
function nameTaken(): Error {
  return aborted("the repository was created at the same moment; try again");
}

async function findOrCreateFolder(db: WriteDb, creation: RepoCreation, { createFolder, names }: RepoCreationParts): Promise<string> {
  const { groupUid, name, origin, now } = creation;
  await lockGroup(db, groupUid);
  const found = await db.selectFrom("group").select("uid").where("parent", "=", groupUid).where("name", "=", name).executeTakeFirst();
  if (found !== undefined) return found.uid;
  if (createFolder === undefined) throw new Error("this server creates no folders");
  const group = await createFolder(groupUid, name, { now, db });
  await appendFolderCreated(db, { group, origin, now }, names);
  return group.uid;
}

/**
 * Pushes of the layers of an image arrive together. Without the lock, each would create the folder or the repo. Calls of
 * the API that create one lock the group against deletion, so the lock has to exclude those, too.
 */
async function lockGroup(db: WriteDb, uid: string): Promise<void> {
  await db.dialect.forDelete(db.selectFrom("group").select("uid").where("uid", "=", uid)).execute();
}
