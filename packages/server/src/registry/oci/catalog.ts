/**
 * Serves `/v2/_catalog`, the repositories that the caller may list. Not in the distribution specification any more, but
 * clients use it. The order is that of uids: an order of full names would change whenever a folder is renamed.
 */
import { viewOf } from "../../api/resource/visible.ts";
import type { ReadDb } from "../../db/store.ts";
import type { UidRange } from "../../lib/uid.ts";
import { findRepository } from "../names.ts";
import { OciError } from "../oci-error.ts";
import { isWithinLimit, namesWithinLimit } from "../repository-limit.ts";
import { type NamedRepo, repositoryNames } from "../repository-names.ts";
import { repos } from "../resources.ts";
import { rights } from "../rights.ts";
import { assertCatalogInScope } from "../token-scope.ts";
import { assertRead, parseCount } from "./listings.ts";
import { answerJson, nextPage, type OciParts, type OciRequest } from "./oci-request.ts";

/** The page size when the client requests none. Clients follow the link to the next page. */
const DEFAULT_REPOSITORIES = 1000;
const MAX_REPOSITORIES = 1000;
/** Groups of the caller that one request looks into. The page ends early after them. */
const MAX_RANGES = 200;
/** A uid, or the end of everything below one: the cursor of a link. */
const CURSOR = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*0?$/;

export async function listCatalog(exchange: OciRequest, { store }: OciParts): Promise<void> {
  assertRead(exchange);
  const { query, caller } = exchange;
  assertCatalogInScope(caller);
  const limit = Math.min(parseCount(query.get("n")) ?? DEFAULT_REPOSITORIES, MAX_REPOSITORIES);
  if (limit === 0) return answerJson(exchange, { repositories: [] });
  const after = await cursorOf(exchange, store.reader);
  const { ranges } = viewOf(caller.access.scopes(rights.listRepos), undefined, repos, store.dialect);
  const { rows, next } = await readPage(store.reader, ranges, { after, limit });
  const names = namesWithinLimit(rows, await repositoryNames(store.reader, rows, caller.access), caller);
  // A client that sees all names at once may as well see them sorted.
  const repositories = after === "" && next === undefined ? names.toSorted() : names;
  const link = next !== undefined && { link: nextPage("/v2/_catalog", { n: String(limit), last: next }) };
  answerJson(exchange, { repositories }, { ...link });
}

/** `last` is the cursor of a link, or a name from an earlier answer. */
async function cursorOf({ query, caller }: OciRequest, db: ReadDb): Promise<string> {
  const last = query.get("last") ?? "";
  if (last === "" || CURSOR.test(last)) return last;
  const target = await findRepository(db, last, caller.access);
  const isListed = target?.repoUid !== undefined && caller.access.holds(rights.listRepos, target.repoUid);
  if (target?.repoUid === undefined || !isListed || !(await isWithinLimit(db, target, caller)))
    throw new OciError("NAME_UNKNOWN", "last is not the name of a repository; use the Link header of the previous page");
  return target.repoUid;
}

interface Window {
  /** The cursor; the empty string for the first page. */
  readonly after: string;
  readonly limit: number;
}

interface Page {
  readonly rows: readonly NamedRepo[];
  /** The next cursor; undefined on the last page. */
  readonly next: string | undefined;
}

/** Seeks in one range after the other, so that rows of others are never passed. */
async function readPage(db: ReadDb, ranges: readonly UidRange[], { after, limit }: Window): Promise<Page> {
  const rows: NamedRepo[] = [];
  const left = ranges.filter(({ upper }) => upper > after);
  for (const range of left.slice(0, MAX_RANGES)) {
    rows.push(...(await readRange(db, range, { after, limit: limit + 1 - rows.length })));
    if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]?.uid };
  }
  return { rows, next: left.length > MAX_RANGES ? left[MAX_RANGES - 1]?.upper : undefined };
}

function readRange(db: ReadDb, { lower, upper }: UidRange, { after, limit }: Window): Promise<NamedRepo[]> {
  const query = db.selectFrom("repo").select(["uid", "name"]).where("uid", "<", upper).orderBy("uid").limit(limit);
  return (after > lower ? query.where("uid", ">", after) : query.where("uid", ">=", lower)).execute();
}
