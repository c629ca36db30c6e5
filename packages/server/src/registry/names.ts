/** From the name of a repository, as registry clients write it, to the repo or to where it would be made. Tells nobody of what they hold no right at. */
import type { Access } from "../auth/capabilities.ts";
import type { ReadDb } from "../db/store.ts";
import { isAtOrBelow, parentOf } from "../lib/uid.ts";
import { OciError } from "./oci-error.ts";

/** Distribution specification 1.1, "Pulling manifests": the grammar of `<name>`. */
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
/** Room for a path of uids as deep as the tree may be. */
const MAX_NAME = 1200;
const ROOT_UID = /^[0-9a-f]{40}$/;
const SEGMENT_UID = /^[0-9a-f]{16}$/;

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
  let groupUid: string | undefined;
  for (const [depth, segment] of segments.slice(0, -1).entries()) {
    const found = depth === 0 ? await organizationsNamed(db, segment, access) : await foldersNamed(db, groupUid ?? "", segment, access);
    if (found.length > 1) throw ambiguous(segment, depth === 0 ? "organizations" : "folders");
    groupUid = found[0];
    if (groupUid === undefined) return undefined;
  }
  if (groupUid === undefined) return undefined;
  const repoUid = await repoNamed(db, groupUid, last);
  return repoUid === undefined ? { repoUid, groupUid, name: last } : { repoUid, groupUid: parentOf(repoUid) };
}

function ambiguous(segment: string, what: string): OciError {
  return new OciError("NAME_INVALID", `there are several ${what} named "${segment}": use the uid in its place`);
}

/** A verified organization's name is its own: another of the same name, which anybody can found, must not get into its way. */
async function organizationsNamed(db: ReadDb, name: string, access: Access): Promise<string[]> {
  if (ROOT_UID.test(name)) return isVisible(name, access) ? [name] : [];
  const rows = await db.selectFrom("group").select(["uid", "verified"]).where("name", "=", name).where("parent", "is", null).execute();
  const visible = rows.filter(({ uid }) => isVisible(uid, access));
  return (visible.some(({ verified }) => verified === 1) ? visible.filter(({ verified }) => verified === 1) : visible).map(
    ({ uid }) => uid,
  );
}

/** Uids come first: who may name a folder could otherwise put it before another's uid. */
async function foldersNamed(db: ReadDb, parent: string, name: string, access: Access): Promise<string[]> {
  const rows = await db.selectFrom("group").select("uid").where("parent", "=", parent).where("name", "=", name).execute();
  if (SEGMENT_UID.test(name)) {
    const uid = `${parent}/${name}`;
    const row = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined && isVisible(uid, access)) return [uid];
  }
  return rows.map(({ uid }) => uid).filter((uid) => isVisible(uid, access));
}

async function repoNamed(db: ReadDb, parent: string, name: string): Promise<string | undefined> {
  if (SEGMENT_UID.test(name)) {
    const uid = `${parent}/${name}`;
    const row = await db.selectFrom("repo").select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined) return uid;
  }
  const row = await db.selectFrom("repo").select("uid").where("parent", "=", parent).where("name", "=", name).executeTakeFirst();
  return row?.uid;
}

/** Whether the caller holds anything there, above, or below. */
function isVisible(uid: string, access: Access): boolean {
  if (access.capabilitiesAt(uid) !== 0n) return true;
  for (const [at] of access.entries()) if (isAtOrBelow(at, uid)) return true;
  return false;
}
