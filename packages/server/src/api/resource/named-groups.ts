/** Finds groups by the names that people write in paths. Reveals only groups where the caller has a right. */
import type { Access } from "../../access/capabilities.ts";
import type { ReadDb } from "../../db/store.ts";

const ROOT_UID = /^[0-9a-f]{40}$/;
const SEGMENT_UID = /^[0-9a-f]{16}$/;

/** Several groups or repos have the name; the message tells the caller what to do. */
export class AmbiguousName extends Error {
  override readonly name = "AmbiguousName";
}

/**
 * @param segments name or uid of an organization, then names of folders or the last 16 digits of their uids. A group exists for the caller
 * only if the caller holds a capability at it, above or below
 * @returns undefined if no such group exists for the caller
 * @throws AmbiguousName
 */
export async function findNamedGroup(db: ReadDb, segments: readonly string[], access: Access): Promise<string | undefined> {
  const found = await findDeepestGroup(db, segments, access);
  return found?.missing.length === 0 ? found.groupUid : undefined;
}

export interface DeepestGroup {
  readonly groupUid: string;
  /** The segments of the path that name no group. */
  readonly missing: readonly string[];
}

/** Like findNamedGroup, for a path of which only the first groups exist. @returns undefined if the organization does not exist */
export async function findDeepestGroup(db: ReadDb, segments: readonly string[], access: Access): Promise<DeepestGroup | undefined> {
  let groupUid: string | undefined;
  for (const [depth, segment] of segments.entries()) {
    const found = depth === 0 ? await organizationsNamed(db, segment, access) : await foldersNamed(db, groupUid ?? "", segment, access);
    if (found.length > 1)
      throw new AmbiguousName(`there are several ${depth === 0 ? "organizations" : "folders"} named "${segment}": use the uid instead`);
    if (found[0] === undefined) return groupUid === undefined ? undefined : { groupUid, missing: segments.slice(depth) };
    groupUid = found[0];
  }
  return groupUid === undefined ? undefined : { groupUid, missing: [] };
}

/** Whether the text has the form of the last part of a uid. */
export function isUidSegment(text: string): boolean {
  return SEGMENT_UID.test(text);
}

/**
 * Organizations that the caller has joined come first: anybody can create one of the same name and bind the caller there. A verified
 * organization owns its name, so unverified ones do not make it ambiguous.
 */
async function organizationsNamed(db: ReadDb, name: string, access: Access): Promise<string[]> {
  if (ROOT_UID.test(name)) return isKnown(name, access) ? [name] : [];
  const rows = await db.selectFrom("group").select(["uid", "verified"]).where("name", "=", name).where("parent", "is", null).execute();
  const visible = rows.filter(({ uid }) => isKnown(uid, access));
  return preferredOf(visible, access).map(({ uid }) => uid);
}

interface Organization {
  readonly uid: string;
  readonly verified: number;
}

/** Selects the organization that a name means, among those of this name that the caller can see. Several if the name is ambiguous. */
export function preferredOf<O extends Organization>(namesakes: readonly O[], access: Access): readonly O[] {
  const joined = namesakes.filter(({ uid }) => access.hasJoined(uid));
  const candidates = joined.length > 0 ? joined : namesakes;
  const verified = candidates.filter((organization) => organization.verified === 1);
  return verified.length > 0 ? verified : candidates;
}

/** Uids come first; otherwise a folder that is named like another folder's uid could hide it. */
async function foldersNamed(db: ReadDb, parent: string, name: string, access: Access): Promise<string[]> {
  const rows = await db.selectFrom("group").select("uid").where("parent", "=", parent).where("name", "=", name).execute();
  if (SEGMENT_UID.test(name)) {
    const uid = `${parent}/${name}`;
    const row = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
    if (row !== undefined && isVisible(uid, access)) return [uid];
  }
  return rows.map(({ uid }) => uid).filter((uid) => isVisible(uid, access));
}

/**
 * Whether a name may mean the organization. One whose policy withholds the caller's rights keeps its name: otherwise the name would
 * mean a public organization of strangers.
 */
function isKnown(uid: string, access: Access): boolean {
  return isVisible(uid, access) || access.withheldAt(uid) !== undefined;
}

/** Whether the caller holds a capability at the group, above or below. */
export function isVisible(uid: string, access: Access): boolean {
  return access.reaches(uid);
}
