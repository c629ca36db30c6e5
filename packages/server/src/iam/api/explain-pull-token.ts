/** Finds what keeps a pull token from a capability: its own limits, or those of its creator. */
import { ExplainAccessResponse_PullTokenLimit as Limit } from "@holt/api/gen/holt/v1/access_pb.ts";
import { matchesPattern } from "../../access/repository-patterns.ts";
import type { Call } from "../../api/call/call.ts";
import type { ReadDb } from "../../db/store.ts";
import { ancestry, isAtOrBelow, parentOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { rightsOfPullToken } from "../pull-tokens/pull-token-access.ts";
import type { PullTokenRecord } from "../pull-tokens/pull-token-record.ts";

interface Wanted {
  readonly uid: string;
  /** A bit set. */
  readonly wanted: bigint;
}

/** The first limit that keeps the token from the capability; undefined if it has it. */
export async function limitOfPullToken(
  token: PullTokenRecord,
  { uid, wanted }: Wanted,
  { db, now }: Pick<Call, "db" | "now">,
  grants: Grants,
): Promise<Limit | undefined> {
  const { groupUid, capabilities, repositories, expireTime } = token;
  if (expireTime <= now.toISOString()) return Limit.EXPIRY;
  if (!isAtOrBelow(uid, groupUid)) return Limit.GROUP;
  if ((capabilities & wanted) !== wanted) return Limit.RIGHTS;
  if (repositories.length > 0 && !(await isNamed(uid, token, db))) return Limit.REPOSITORIES;
  const { exists, access } = await rightsOfPullToken(token, now, (creator) => grants.loadSession(creator, db));
  return exists && access.holds(wanted, uid) ? undefined : Limit.CREATOR;
}

/** Whether the uid is that of a repository which a path of the token names. */
async function isNamed(uid: string, { groupUid, repositories }: PullTokenRecord, db: ReadDb): Promise<boolean> {
  const repo = await db.selectFrom("repo").select("name").where("uid", "=", uid).executeTakeFirst();
  if (repo === undefined) return false;
  const folders = ancestry(parentOf(uid)).filter((each) => each !== groupUid && isAtOrBelow(each, groupUid));
  const rows = await db
    .selectFrom("group")
    .select(["uid", "name"])
    .where("uid", "in", [...folders, groupUid])
    .execute();
  const names = new Map(rows.map((row) => [row.uid, row.name]));
  const path = [...folders.reverse().map((folder) => names.get(folder) ?? ""), repo.name];
  return repositories.some((pattern) => matchesPattern(path, pattern));
}

export interface PullTokenExplanation {
  readonly token: PullTokenRecord;
  /** Its string name, such as `groups.list`. */
  readonly capability: string;
  readonly uid: string;
  readonly limit: Limit | undefined;
  /** Name of the creator; undefined if the caller may not read it, and for an independent token. */
  readonly creator: string | undefined;
}

export function pullTokenSummaryOf(explanation: PullTokenExplanation): string {
  const { token, capability, uid, limit } = explanation;
  const verdict = limit === undefined ? "has" : "does not have";
  return `the pull token "${token.name}" ${verdict} ${capability} at ${uid}: ${reasonOf(explanation)}.`;
}

function reasonOf({ token, limit, creator }: PullTokenExplanation): string {
  const its = creator === undefined ? "its creator" : `its creator "${creator}"`;
  switch (limit) {
    case undefined:
      return token.creator === undefined
        ? "its rights include it, and it is independent of its creator"
        : `its rights include it, and ${its} holds it there`;
    case Limit.EXPIRY:
      return `its password expired at ${token.expireTime}; rotate it`;
    case Limit.GROUP:
      return `it is for ${token.groupUid} and below`;
    case Limit.REPOSITORIES:
      return `it is limited to the repositories ${token.repositories.join(", ")} of ${token.groupUid}`;
    case Limit.CREATOR:
      return `its rights include it, but ${its} does not hold it there, or no longer exists; somebody who holds it can adopt the token`;
    default:
      return "its rights do not include it";
  }
}
