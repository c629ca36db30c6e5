/** What is answered of users and groups: whole, in part, with or without their groups and members; one, or a list. */
import type { ReadDb, Store } from "../db/store.ts";
import type { ConcurrencyLimit } from "../jobs/limit.ts";
import { parseFilter } from "./filter.ts";
import type { Kind } from "./kind.ts";
import { countFitting, loadLinks } from "./links.ts";
import { type ListQuery, listRows, type Page } from "./list.ts";
import { isReturned, type Projection, project } from "./projection.ts";
import { type Row, resourceFrom } from "./resource.ts";
import type { Json } from "./schema.ts";
import { ScimError } from "./scim-error.ts";

/** A request for a list, from the query or the body of a search (RFC 7644 §3.4.2, §3.4.3). */
export interface SearchRequest {
  readonly filter: string | undefined;
  readonly sortBy: string | undefined;
  readonly isDescending: boolean;
  /** Counted from 1. */
  readonly startIndex: number;
  readonly count: number;
  readonly projection: Projection;
}

export interface SearchScope {
  readonly store: Store;
  readonly idpUid: string;
  /** URL of the provider's SCIM, without a trailing slash. */
  readonly base: string;
  readonly scans: ConcurrencyLimit;
}

export const MAX_COUNT = 500;
const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

export async function answerOne(db: ReadDb, kind: Kind, row: Row, base: string, projection: Projection): Promise<Json> {
  const [resource] = await represent(db, kind, [row], base, projection);
  return resource as Json;
}

/** Of one kind, or of both: users come before groups then. There may be fewer than asked for; `itemsPerPage` says how many there are. */
export async function answerList(
  kinds: readonly Kind[],
  request: SearchRequest,
  { store, idpUid, base, scans }: SearchScope,
): Promise<Json> {
  const resources: Json[] = [];
  let totalResults = 0;
  let isCut = false;
  for (const kind of kinds) {
    const query = queryFrom(
      kind,
      request,
      kinds.length > 1,
      Math.max(request.startIndex - 1 - totalResults, 0),
      request.count - resources.length,
    );
    const { total, rows } = query === undefined ? NOTHING : await listRows(store.reader, kind, idpUid, query, scans);
    const page: Json[] = isCut ? [] : await represent(store.reader, kind, rows, base, request.projection);
    isCut ||= page.length < rows.length;
    totalResults += total;
    resources.push(...page);
  }
  return { schemas: [LIST], totalResults, startIndex: request.startIndex, itemsPerPage: resources.length, Resources: resources };
}

const NOTHING: Page = { total: 0, rows: [] };

/** Undefined where the kind does not have what is asked for, and others might (RFC 7644 §3.4.2.1). */
function queryFrom(kind: Kind, request: SearchRequest, isOneOfMany: boolean, skip: number, count: number): ListQuery | undefined {
  const { filter, sortBy, isDescending } = request;
  try {
    return { filter: filter === undefined ? undefined : parseFilter(kind.type, filter), sortBy, isDescending, skip, count };
  } catch (error) {
    if (isOneOfMany && error instanceof ScimError && error.scimType === "invalidFilter") return undefined;
    throw error;
  }
}

async function represent(db: ReadDb, kind: Kind, rows: readonly Row[], base: string, projection: Projection): Promise<Json[]> {
  const { type, link } = kind;
  const ids = rows.map(({ id }) => id);
  if (!isReturned(projection, type, link.attribute) || ids.length === 0)
    return rows.map((row) => project(resourceFrom(kind, row, base), type, projection));
  const count = await countFitting(db, kind, ids);
  const links = await loadLinks(db, kind, ids.slice(0, count), base);
  return rows.slice(0, count).map((row) => {
    const own = links.get(row.id);
    const resource = resourceFrom(kind, row, base);
    return project(own === undefined ? resource : { ...resource, [link.attribute]: own }, type, projection);
  });
}
