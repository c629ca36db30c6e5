/** From the name of a repository, as registry clients write it, to the repo or to where it would be made. Tells nobody of what they hold no right at. */
import type { Access } from "../access/capabilities.ts";
import { AmbiguousName, findNamedGroup, isUidSegment } from "../api/resource/named-groups.ts";
import type { ReadDb } from "../db/store.ts";
import { parentOf } from "../lib/uid.ts";
import { OciError } from "./oci-error.ts";

/** Distribution specification 1.1, "Pulling manifests": the grammar of `<name>`. */
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
/** Room for a path of uids as deep as the tree may be. */
const MAX_NAME = 1200;

/** Where a name leads. Without a repo: the name would be `name` in that group. */
export type Place =
  | { readonly repoUid: string; readonly groupUid: string }
  | { readonly repoUid: undefined; readonly groupUid: string; readonly name: string };

/** @throws OciError NAME_INVALID */
export function parseRepositoryName(name: string): readonly string[] {
  if (name.length > MAX_NAME || !NAME.test(name))
    throw new OciError("NAME_INVALID", "the name must match [a-z0-9]+([._-][a-z0-9]+)*, in segments separated by /");
  return name.split("/");
}

/**
 * `<organization's name or uid>/[folder/…/]<repo>`; the last 16 digits of a uid stand for a folder or a repo, too. Groups at and
 * above which and below which the caller holds nothing do not exist for it.
 * @returns undefined where nothing that the caller may know of has such a name
 * @throws OciError NAME_INVALID where the name is malformed, or stands for several
 */
export async function findPlace(db: ReadDb, name: string, access: Access): Promise<Place | undefined> {
  const segments = parseRepositoryName(name);
  const last = segments.at(-1) ?? "";
  if (segments.length < 2) return undefined;
  const groupUid = await findNamedGroup(db, segments.slice(0, -1), access).catch((error: unknown) => {
    throw error instanceof AmbiguousName ? new OciError("NAME_INVALID", error.message) : error;
  });
  if (groupUid === undefined) return undefined;
  const repoUid = await repoNamed(db, groupUid, last);
  return repoUid === undefined ? { repoUid, groupUid, name: last } : { repoUid, groupUid: parentOf(repoUid) };
}

async function repoNamed(db: ReadDb, parent: string, name: string): Promise<string | undefined> {
  if (isUidSegment(name)) {
    const uid = `${parent}/${name}`;
    const row = await db.selectFrom("repo").select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined) return uid;
  }
  const row = await db.selectFrom("repo").select("uid").where("parent", "=", parent).where("name", "=", name).executeTakeFirst();
  return row?.uid;
}
