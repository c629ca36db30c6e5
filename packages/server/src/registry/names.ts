/**
 * Resolves the name of a repository, as registry clients write it, to a repo or to the group where the repo would be
 * created. It does not reveal anything at which the caller holds no right.
 */
import type { Access } from "../access/capabilities.ts";
import { AmbiguousName, findDeepestGroup, isUidSegment } from "../api/resource/named-groups.ts";
import type { ReadDb } from "../db/store.ts";
import { parentOf } from "../lib/uid.ts";
import { OciError } from "./oci-error.ts";
import { findRepoByPath } from "./repo-path.ts";

/** OCI distribution specification 1.1, "Pulling manifests": the grammar of `<name>`. */
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
/** Allows a path of uids at the maximum depth of the tree. */
const MAX_NAME = 1200;

/** An existing repo; or, with `repoUid` undefined, the place that the repo would have. */
export type RepositoryTarget = { readonly repoUid: string; readonly groupUid: string } | MissingRepo;

export interface MissingRepo {
  readonly repoUid: undefined;
  readonly groupUid: string;
  /** Names of the missing folders between the group and the repo, from the top. */
  readonly folders: readonly string[];
  readonly name: string;
}

/** @throws OciError NAME_INVALID */
function parseRepositoryName(name: string): readonly string[] {
  if (name.length > MAX_NAME || !NAME.test(name))
    throw new OciError("NAME_INVALID", "the name must match [a-z0-9]+([._-][a-z0-9]+)*, in segments separated by /");
  return name.split("/");
}

/**
 * Resolves `<organization's name or uid>/[folder/…/]<repo>`. The last 16 digits of a uid may replace the name of a
 * folder or a repo. Groups where the caller holds nothing, neither at, above nor below them, do not exist for it.
 * @returns undefined if nothing that is visible to the caller has this name
 * @throws OciError NAME_INVALID if the name is malformed or ambiguous
 */
export async function findRepository(db: ReadDb, name: string, access: Access): Promise<RepositoryTarget | undefined> {
  const target = await findPlace(db, name, access);
  return target?.repoUid === undefined && target?.folders.length !== 0 ? undefined : target;
}

/** Like findRepository, also if folders are missing that could be created. */
export async function findPlace(db: ReadDb, name: string, access: Access): Promise<RepositoryTarget | undefined> {
  const segments = parseRepositoryName(name);
  const last = segments.at(-1) ?? "";
  if (segments.length < 2) return undefined;
  const known = await findRepoByPath(db, segments, access);
  if (known !== undefined) return { repoUid: known, groupUid: parentOf(known) };
  const found = await findDeepestGroup(db, segments.slice(0, -1), access).catch((error: unknown) => {
    throw error instanceof AmbiguousName ? new OciError("NAME_INVALID", error.message) : error;
  });
  // A name in the form of a uid refers to a deleted folder. It is not a name for a new one.
  if (found === undefined || found.missing.some(isUidSegment)) return undefined;
  const { groupUid, missing: folders } = found;
  const repoUid = folders.length > 0 ? undefined : await findRepoNamed(db, groupUid, last);
  return repoUid === undefined ? { repoUid, groupUid, folders, name: last } : { repoUid, groupUid: parentOf(repoUid) };
}

async function findRepoNamed(db: ReadDb, parent: string, name: string): Promise<string | undefined> {
  if (isUidSegment(name)) {
    const uid = `${parent}/${name}`;
    const row = await db.selectFrom("repo").select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined) return uid;
  }
  const row = await db.selectFrom("repo").select("uid").where("parent", "=", parent).where("name", "=", name).executeTakeFirst();
  return row?.uid;
}
