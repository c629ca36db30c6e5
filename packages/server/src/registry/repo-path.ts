/** Finds the repo of a path of names by one statement, where the path has one meaning. Most requests of clients begin with this. */
import { type RawBuilder, sql } from "kysely";
import type { Access } from "../access/capabilities.ts";
import { isUidSegment, isVisible } from "../api/resource/named-groups.ts";
import { ROW } from "../db/lookup.ts";
import { prepareEach } from "../db/prepared.ts";
import type { ReadDb } from "../db/store.ts";
import { ancestry, parentOf } from "../lib/uid.ts";

/** Longer paths are found group by group. */
const MAX_SEGMENTS = 16;

/** The name of each group and of the repo, by `name0` and so on. */
type Names = Readonly<Record<string, string>>;

/**
 * A row for each group without a parent that has the first name, and for each continuation of its path. Two rows suffice to know that the
 * path is ambiguous.
 */
const reposAt = prepareEach<number, Names, { uid: string | null }>(
  (length) => (db, param) => {
    const repo = length - 1;
    const joins: RawBuilder<unknown>[] = [];
    for (let i = 1; i < repo; i++)
      joins.push(
        sql`left join "group" as ${alias(i)} on ${alias(i)}.parent = ${alias(i - 1)}.uid and ${alias(i)}.name = ${param(`name${i}`)}`,
      );
    joins.push(sql`left join repo as r on r.parent = ${alias(repo - 1)}.uid and r.name = ${param(`name${repo}`)}`);
    return sql<{ uid: string | null }>`select r.uid as uid from "group" as ${alias(0)} ${sql.join(joins, sql` `)}
      where ${alias(0)}.name = ${param("name0")} and ${alias(0)}.parent is null limit 2`.compile(db);
  },
  String,
  { capacity: MAX_SEGMENTS, weight: ROW },
);

function alias(index: number): RawBuilder<unknown> {
  return sql.ref(`g${index}`);
}

/**
 * @param segments of the repository's name, at least two
 * @returns undefined if the path does not exist, is ambiguous or invisible, or has a segment in the form of a uid: the caller then looks at
 * each segment
 */
export async function findRepoByPath(db: ReadDb, segments: readonly string[], access: Access): Promise<string | undefined> {
  if (segments.length > MAX_SEGMENTS || segments.some(mayBeUid)) return undefined;
  const names = Object.fromEntries(segments.map((segment, i) => [`name${i}`, segment]));
  const [found, other] = await reposAt(segments.length).rows(db, names);
  const uid = found?.uid ?? undefined;
  if (uid === undefined || other !== undefined) return undefined;
  return ancestry(parentOf(uid)).every((group) => isVisible(group, access)) ? uid : undefined;
}

/** The uid of an organization has 40 digits, and the last part of another uid 16. */
function mayBeUid(segment: string): boolean {
  return segment.length === 40 || isUidSegment(segment);
}
