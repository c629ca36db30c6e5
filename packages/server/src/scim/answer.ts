/** Renders users and groups for responses: one resource or a list, with the requested attributes. */
import { cutPage } from "../api/resource/page-bytes.ts";
import type { ReadDb, Store } from "../db/store.ts";
import type { FairLimit } from "../jobs/limit.ts";
import { parseFilter } from "./filter.ts";
import { countWithinLinkLimit, loadLinks } from "./links.ts";
import { type ListPage, type ListQuery, listRows } from "./list.ts";
import { isReturned, type Projection, project } from "./projection.ts";
import { resourceFromRow, type ScimRow } from "./resource.ts";
import type { Json } from "./schema.ts";
import { ScimError } from "./scim-error.ts";
import type { ResourceStorage } from "./storage.ts";

/** A list request, from the query or from the body of a search (RFC 7644 §3.4.2, §3.4.3). */
export interface SearchRequest {
  readonly filter: string | undefined;
  readonly sortBy: string | undefined;
  readonly isDescending: boolean;
  /** 1-based. */
  readonly startIndex: number;
  readonly count: number;
  readonly projection: Projection;
}

export interface SearchScope {
  readonly store: Store;
  readonly idpUid: string;
  /** URL of the provider's SCIM, without a trailing slash. */
  readonly base: string;
  readonly scans: FairLimit;
}

/** How resources are shown. */
export interface View {
  /** URL of the provider's SCIM, without a trailing slash. */
  readonly base: string;
  readonly projection: Projection;
}

/** Resources per page. */
export const MAX_COUNT = 500;
/** Stored bytes of a page's users, and of its groups. Directories that ask for many resources have small ones. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;
const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

export async function renderResource(db: ReadDb, storage: ResourceStorage, row: ScimRow, view: View): Promise<Json> {
  const [resource] = await renderRows(db, storage, [row], view);
  return resource as Json;
}

/**
 * Lists one type of resource, or users followed by groups. May return fewer resources than requested, see
 * `itemsPerPage`.
 */
export async function renderList(
  storages: readonly ResourceStorage[],
  request: SearchRequest,
  { store, idpUid, base, scans }: SearchScope,
): Promise<Json> {
  const resources: Json[] = [];
  let totalResults = 0;
  let isTruncated = false;
  for (const storage of storages) {
    const filter = parseFilterFor(storage, request, storages.length > 1);
    const range = { skip: Math.max(request.startIndex - 1 - totalResults, 0), count: request.count - resources.length };
    const query = filter && { ...filter, ...range, sortBy: request.sortBy, isDescending: request.isDescending };
    const { total, rows } = query === undefined ? EMPTY_PAGE : await listRows({ db: store.reader, storage, idpUid, base, scans }, query);
    const view = { base, projection: request.projection };
    const kept = cutPage(rows, rows.length, ({ body }) => body.length, MAX_PAGE_BYTES).rows;
    const page: Json[] = isTruncated ? [] : await renderRows(store.reader, storage, kept, view);
    isTruncated ||= page.length < rows.length;
    totalResults += total;
    resources.push(...page);
  }
  return { schemas: [LIST], totalResults, startIndex: request.startIndex, itemsPerPage: resources.length, Resources: resources };
}

const EMPTY_PAGE: ListPage = { total: 0, rows: [] };

/**
 * RFC 7644 §3.4.2.1: a filter on an attribute that only another type has excludes this type.
 * @returns undefined if the type is excluded
 */
function parseFilterFor({ type }: ResourceStorage, { filter }: SearchRequest, isOneOfMany: boolean): Pick<ListQuery, "filter"> | undefined {
  try {
    return { filter: filter === undefined ? undefined : parseFilter(type, filter) };
  } catch (error) {
    if (isOneOfMany && error instanceof ScimError && error.scimType === "invalidFilter") return undefined;
    throw error;
  }
}

async function renderRows(db: ReadDb, storage: ResourceStorage, rows: readonly ScimRow[], { base, projection }: View): Promise<Json[]> {
  const { type, link } = storage;
  const ids = rows.map(({ id }) => id);
  if (!isReturned(projection, type, link.attribute) || ids.length === 0)
    return rows.map((row) => project(resourceFromRow(storage, row, base), type, projection));
  const count = await countWithinLinkLimit(db, storage, ids);
  const links = await loadLinks(db, storage, ids.slice(0, count), base);
  return rows.slice(0, count).map((row) => {
    const own = links.get(row.id);
    const resource = resourceFromRow(storage, row, base);
    return project(own === undefined ? resource : { ...resource, [link.attribute]: own }, type, projection);
  });
}
