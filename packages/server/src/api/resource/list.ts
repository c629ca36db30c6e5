/** Lists a resource: what the caller may see of what it asked for, page by page (AIP-132, AIP-158), at a cost that does not grow with the table. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { UIDPFilter } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import type { CountKind } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { type Call, JsonText } from "../call/call.ts";
import { listCapabilities } from "./conditions.ts";
import { countRows, type RowCount } from "./count-rows.ts";
import type { Resource } from "./define.ts";
import { type Order, parseOrderBy } from "./order-by.ts";
import type { PageTokens } from "./page-token.ts";
import { readRows } from "./read-rows.ts";
import type { Entries, Selection } from "./selection.ts";
import { type Condition, onColumn, type View, viewOf } from "./visible.ts";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 200;

/** What every List request has. */
export interface ListRequest {
  readonly uidp?: UIDPFilter | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly orderBy: string;
  readonly skip: number;
}

/** One page, its resources as stored. */
export interface Page {
  readonly uids: readonly string[];
  readonly bodies: readonly string[];
  readonly nextPageToken: string;
  /** Undefined where there are too many to count. */
  readonly totalCount: number | undefined;
  readonly skipped: number;
}

/** What a list's request alone does not say. */
export interface ListTerms {
  /** Rows in root that this caller may see beside what its scopes hold, as a condition on `uid`. */
  readonly beside?: RawBuilder<boolean>;
  /** What all rows must meet beside the equality filters. */
  readonly conditions?: readonly Condition[];
  /** The maintained count of just the rows that meet `conditions`; without it they are counted one by one. */
  readonly counted?: CountKind;
  /** Of the rows that meet `conditions`, where nothing counts them: they are counted there, unless the list is confined otherwise, too. */
  readonly entries?: Entries;
  /** Whether the order's index can find the rows that meet `conditions`, each of which then uses it in its `test`. */
  readonly isIndexed?: boolean;
  /** For a resource that knows more of its conditions than the engine does; in place of `counted`. */
  readonly plan?: (selection: Selection, db: ReadDb) => Promise<Plan>;
}

/** How the rows that are meant are found, by somebody who knows how many they are. */
export interface Plan {
  /** With all conditions. */
  readonly view: View;
  readonly count: RowCount;
}

/** @throws INVALID_ARGUMENT on page_size, page_token, order_by, skip */
export async function listPage(
  resource: Resource,
  request: ListRequest,
  call: Call,
  tokens: PageTokens,
  { beside, conditions = [], counted, entries, isIndexed = false, plan }: ListTerms = {},
): Promise<Page> {
  const { limit, skip } = parsePageRequest(request);
  const order = parseOrderBy(request.orderBy, resource);
  const filters = filtersOf(resource, request);
  const binding = bindingOf(call, request.uidp, [...filters, ...conditions.map((condition) => textOf(condition, call))], order);
  const after = request.pageToken === "" ? undefined : tokens.open(request.pageToken, binding, call.now);
  const whole = viewOf(call.access.scopes(listCapabilities(call)), request.uidp, resource, call.db.dialect);
  const equal = filters.map((filter) => equality(filter, call.db.dialect));
  const view = confine(whole, [...equal, ...conditions], filters.length === 0 ? counted : undefined);
  const wanted: Selection = {
    resource,
    view,
    counted: counted ?? resource.table,
    entries: view.conditions.length === conditions.length ? entries : undefined,
    isIndexed,
    beside: view.includesRoot ? beside : undefined,
    order,
    after,
    skip,
    limit,
  };

  const planned = await plan?.({ ...wanted, view: whole }, call.db);
  const selection = planned === undefined ? wanted : { ...wanted, view: planned.view };
  const count = planned?.count ?? (await countRows(selection, call.db));
  const rows = await readRows(selection, count, call.db);
  const skipped = (after?.skipped ?? 0) + skip;
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    uids: rows.slice(0, limit).map((row) => row.uid),
    bodies: rows.slice(0, limit).map((row) => row.body),
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.key, uid: last.uid, skipped }, binding, call.now),
    totalCount: count.total,
    skipped,
  };
}

/** @throws INVALID_ARGUMENT on page_size, skip */
export function parsePageRequest({ pageSize, skip }: Pick<ListRequest, "pageSize" | "skip">): {
  readonly limit: number;
  readonly skip: number;
} {
  if (pageSize < 0) throw invalidArgument("page_size", "page_size must not be negative");
  if (skip < 0) throw invalidArgument("skip", "skip must not be negative");
  return { limit: pageSize === 0 ? DEFAULT_PAGE_SIZE : Math.min(pageSize, MAX_PAGE_SIZE), skip };
}

type Filter = readonly [column: string, value: string | number];

function filtersOf(resource: Resource, request: ListRequest): Filter[] {
  return Object.entries(resource.filters).flatMap(([field, column]) => {
    const value = (request as unknown as Record<string, string | number>)[field];
    return value === undefined || value === "" || value === 0 ? [] : [[column, value] as const];
  });
}

function equality([column, value]: Filter, dialect: Dialect): Condition {
  // PostgreSQL knows no NUL in a text, so no row can hold one.
  const isImpossible = typeof value === "string" && value.includes("\0");
  return onColumn(column, dialect, (ref) => (isImpossible ? sql<boolean>`1 = 0` : sql<boolean>`${ref} = ${value}`));
}

function confine(view: View, conditions: readonly Condition[], counted: CountKind | undefined): View {
  if (conditions.length === 0) return view;
  return { ...view, conditions: [...view.conditions, ...conditions], counted: counted === undefined ? undefined : view.counted };
}

function textOf({ seek }: Condition, { db }: Call): unknown {
  const { sql: text, parameters } = seek.compile(db);
  return [text, parameters];
}

/** A page token is good for this caller, list, filter and order only. */
function bindingOf(call: Call, uidp: UIDPFilter | undefined, filters: readonly unknown[], order: Order): string {
  const hierarchy = uidp === undefined ? [] : [uidp.ancestorsOf, uidp.descendantsOf, uidp.childrenOf, uidp.inRoot, ...uidp.ids];
  return JSON.stringify([call.operation.name, call.principal?.uid, hierarchy, filters, order.column, order.descending]);
}

/** The response message of a list, put together from stored bodies without parsing them. */
export function listResponse<Desc extends DescMessage>(
  schema: Desc,
  { bodies, nextPageToken, totalCount, skipped }: Omit<Page, "uids">,
): JsonText<Desc> {
  const items = schema.fields[0]?.jsonName ?? "items";
  const token = nextPageToken === "" ? "" : `"nextPageToken":"${nextPageToken}",`;
  const total = totalCount === undefined ? "" : `"totalCount":"${totalCount}",`;
  return new JsonText(schema, `{"${items}":[${bodies.join(",")}],${token}${total}"skipped":${skipped}}`);
}
