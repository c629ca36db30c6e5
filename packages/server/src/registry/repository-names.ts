/**
 * Writes the names of repositories as registry clients use them: the reverse of names.ts. A uid replaces a name that
 * clients could not write, or that would not lead the caller to this repository.
 */
import { sql } from "kysely";
import type { Access } from "../access/capabilities.ts";
import { isUidSegment, isVisible, preferredOf } from "../api/resource/named-groups.ts";
import type { ReadDb } from "../db/store.ts";
import { ancestry, isInRoot, parentOf, rootOf } from "../lib/uid.ts";

export interface NamedRepo {
  readonly uid: string;
  readonly name: string;
}

/** A segment of a name (OCI distribution specification 1.1, "Pulling manifests"). */
const SEGMENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
/** Folders with the name of a sibling are rare. With more of them, the caller is asked for a uid when it uses the name. */
const MAX_NAMESAKES = 1000;

/** The names of the repositories, in the same order. */
export async function repositoryNames(db: ReadDb, repos: readonly NamedRepo[], access: Access): Promise<string[]> {
  const groups = [...new Set(repos.flatMap(({ uid }) => ancestry(parentOf(uid))))];
  const segments = new Map([
    ...(await organizationSegments(db, groups.filter(isInRoot), access)),
    ...(await folderSegments(
      db,
      groups.filter((uid) => !isInRoot(uid)),
      access,
    )),
  ]);
  return repos.map(({ uid, name }) => {
    const path = ancestry(parentOf(uid)).reverse();
    return [...path.map((group) => segments.get(group) ?? lastSegment(group)), segmentOf(uid, name)].join("/");
  });
}

/** Several organizations that the caller can see may have the same name. The name then means one of them, or none. */
async function organizationSegments(db: ReadDb, uids: readonly string[], access: Access): Promise<[string, string][]> {
  const visible = [...new Set([...uids, ...[...access.entries()].map(([uid]) => rootOf(uid))])];
  const rows = await db
    .selectFrom("group")
    .select(["uid", "name", "verified"])
    .where("uid", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(visible).as("v")).select("v.value"))
    .execute();
  const byName = Map.groupBy(rows, ({ name }) => name);
  return rows.map(({ uid, name }) => {
    const [first, ...others] = preferredOf(byName.get(name) ?? [], access);
    return [uid, first?.uid === uid && others.length === 0 ? segmentOf(uid, name) : uid];
  });
}

async function folderSegments(db: ReadDb, uids: readonly string[], access: Access): Promise<[string, string][]> {
  const folders = sql<{ uid: string; name: string; parent: string }>`(select uid, name, parent from "group" where uid in
    (select v.value from ${db.dialect.valuesOf(uids)} as v))`;
  const rows = await db.selectFrom(folders.as("f")).select(["f.uid", "f.name"]).execute();
  const namesakes = await db
    .selectFrom(folders.as("f"))
    .innerJoin("group as other", (join) => join.onRef("other.parent", "=", "f.parent").onRef("other.name", "=", "f.name"))
    .select(["f.uid as uid", "other.uid as other"])
    .whereRef("other.uid", "<>", "f.uid")
    .limit(MAX_NAMESAKES)
    .execute();
  const ambiguous = new Set(namesakes.filter(({ other }) => isVisible(other, access)).map(({ uid }) => uid));
  return rows.map(({ uid, name }) => [uid, ambiguous.has(uid) ? lastSegment(uid) : segmentOf(uid, name)]);
}

function segmentOf(uid: string, name: string): string {
  const isName = SEGMENT.test(name) && !(isInRoot(uid) ? /^[0-9a-f]{40}$/.test(name) : isUidSegment(name));
  return isName ? name : lastSegment(uid);
}

function lastSegment(uid: string): string {
  return uid.slice(uid.lastIndexOf("/") + 1);
}
