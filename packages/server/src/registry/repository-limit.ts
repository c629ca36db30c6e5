/** Limits pull tokens to the repositories that they name. */

import { matchesPattern } from "../access/repository-patterns.ts";
import type { ReadDb } from "../db/store.ts";
import type { ContentCaller } from "../iam/content-login/content-callers.ts";
import { ancestry, isAtOrBelow, newUid, parentOf } from "../lib/uid.ts";
import type { RepositoryTarget } from "./names.ts";
import { type NamedRepo, repositoryNames } from "./repository-names.ts";

/** Whether a repository, or the place for a new one, is among those that the caller is limited to. */
export async function isWithinLimit(db: ReadDb, target: RepositoryTarget, caller: ContentCaller): Promise<boolean> {
  if (caller.repositories === undefined) return true;
  const { repo, folders } = await namedRepoOf(db, target);
  const [name = ""] = await repositoryNames(db, [repo], caller.access);
  const segments = name.split("/");
  return matches(repo, [...segments.slice(0, -1), ...folders, ...segments.slice(-1)], caller);
}

/** A repo that does not exist yet has a uid of its own for the moment. */
async function namedRepoOf(db: ReadDb, target: RepositoryTarget): Promise<{ repo: NamedRepo; folders: readonly string[] }> {
  if (target.repoUid === undefined) return { repo: { uid: newUid(target.groupUid), name: target.name }, folders: target.folders };
  const { repoUid: uid } = target;
  const row = await db.selectFrom("repo").select("name").where("uid", "=", uid).executeTakeFirst();
  return { repo: { uid, name: row?.name ?? "" }, folders: [] };
}

/** The names of those of the repositories that the caller is not kept from. @param names of the repos, in the same order */
export function namesWithinLimit(repos: readonly NamedRepo[], names: readonly string[], caller: ContentCaller): readonly string[] {
  if (caller.repositories === undefined) return names;
  return names.filter((name, index) => matches(repos[index], name.split("/"), caller));
}

function matches(repo: NamedRepo | undefined, segments: readonly string[], { repositories }: ContentCaller): boolean {
  if (repo === undefined || repositories === undefined) return false;
  const { groupUid, patterns } = repositories;
  if (!isAtOrBelow(parentOf(repo.uid), groupUid)) return false;
  const path = segments.slice(ancestry(groupUid).length);
  return patterns.some((pattern) => matchesPattern(path, pattern));
}
