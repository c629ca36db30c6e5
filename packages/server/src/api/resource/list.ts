/** Lists the rows of a resource that the caller may see, in pages (AIP-132, AIP-158), at a cost that does not grow with the table. */
import type { UIDPFilter } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../../db/dialect.ts";
import type { CountKind } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { invalidArgument } from "../../lib/errors.ts";
import type { UidRange } from "../../lib/uid.ts";
import type { Call } from "../call/call.ts";
import { type Bodies, SeparateBodies } from "./bodies.ts";
import { listCapabilities } from "./conditions.ts";
import { countRows, type ListSize, measureRows, type RowCount } from "./count-rows.ts";
import { type CountedPage, isCountedPage, readCountedPage, type StoredTest } from "./counted-page.ts";
import type { Resource } from "./define.ts";
import { uidOfBody } from "./fields-of-body.ts";
import { readFoundPage } from "./found-page.ts";
import type { ListedPage } from "./list-text.ts";
import { type Order, parseOrderBy } from "./order-by.ts";
import { type CutPage, cutPage } from "./page-bytes.ts";
import { bindingOf, type PageTokens, skippedUntil } from "./page-token.ts";
import { type Row, readRows } from "./read-rows.ts";
import type { Entries, RootRows, Selection } from "./selection.ts";
import { type Condition, onColumn, type View, viewOf } from "./visible.ts";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 200;

/** The fields of every List request. */
export interface ListRequest {
  readonly uidp?: UIDPFilter | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly orderBy: string;
  readonly skip: number;
}

/** One page of resources. It has fewer rows than asked for where they are large. */
export interface Page extends ListedPage {
  readonly uids: () => readonly string[];
  /** Measures all pages; undefined where only reading them can tell. */
  readonly measure?: ((maxRows: number) => Promise<ListSize>) | undefined;
}

/** Terms of a list beyond the request's hierarchy, equality filters, order and page. */
export interface ListTerms {
  readonly rootRows?: () => RootRows;
  /** All rows must also meet these. */
  readonly conditions?: readonly Condition[];
  /** The maintained count of exactly the rows that meet `conditions`; without it they are counted one by one. */
  readonly counted?: CountKind;
  /** A table in which the rows that meet `conditions` are faster to count; used if the list has no other conditions. */
  readonly entries?: Entries;
  /** Whether the order's index can find the rows that meet `conditions`. Each `test` is then written for that index. */
  readonly isIndexed?: boolean;
  /** Query planner of a resource that maintains its own counts; replaces `counted`. */
  readonly plan?: (selection: Selection, db: ReadDb) => Promise<Plan>;
}

/** Query plan of a resource that maintains its own counts. */
export interface Plan {
  /** With all conditions. */
  readonly view: View;
  /** Undefined if the rows are few, so that one statement counts and sorts them. */
  readonly count: RowCount | undefined;
  /** As in `ListTerms`; false by default. */
  readonly isIndexed?: boolean;
}

type ShownRow = Pick<Row, "uid" | "body">;

export interface ListOptions extends ListTerms {
  readonly pageTokens: PageTokens;
  /** Completes stored bodies with what is stored elsewhere: one text for each row, in the same order. */
  readonly show?: ((rows: readonly ShownRow[]) => Promise<readonly string[]>) | undefined;
  /** Whether `show` leaves all rows within the range as they are stored, which saves making strings of them. */
  readonly isShownAsStored?: ((range: UidRange, hasRootRows: boolean) => boolean | StoredTest) | undefined;
  /** SQL of the bytes of a completed body; without it, only bodies that are sent as stored can be measured. */
  readonly bytesOfRow?: RawBuilder<unknown> | undefined;
}

const BYTES_OF_BODY = sql`octet_length(body)`;

/** @throws INVALID_ARGUMENT on page_size, page_token, order_by, skip */
export async function listPage(resource: Resource, request: ListRequest, call: Call, options: ListOptions): Promise<Page> {
  const { pageTokens: tokens, rootRows, conditions = [], counted, entries, isIndexed = false, plan, show } = options;
  const bytesOfRow = options.bytesOfRow ?? (show === undefined ? BYTES_OF_BODY : undefined);
  const { limit, skip } = parsePageRequest(request);
  const order = parseOrderBy(request.orderBy, resource);
  const filters = filtersOf(resource, request);
  // Not computed without need: a filter may be as large as a message.
  const binding = () =>
    bindingOfList(call, request.uidp, [...filters, ...conditions.map((condition) => conditionText(condition, call))], order);
  const after = request.pageToken === "" ? undefined : tokens.open(request.pageToken, binding(), call.now);
  const whole = viewOf(call.access.scopes(listCapabilities(call)), request.uidp, resource, call.db.dialect);
  const equal = filters.map((filter) => equality(filter, call.db.dialect));
  const view = confine(whole, [...equal, ...conditions], filters.length === 0 ? counted : undefined);
  const wanted: Selection = {
    resource,
    view,
    counted: counted ?? resource.table,
    entries: view.conditions.length === conditions.length ? entries : undefined,
    isIndexed,
    rootRows: view.includesRoot ? rootRows?.() : undefined,
    order,
    after,
    skip,
    limit,
  };

  const planned = await plan?.({ ...wanted, view: whole }, call.db);
  const selection = planned === undefined ? wanted : { ...wanted, view: planned.view, isIndexed: planned.isIndexed ?? false };
  const { uids, bodies, last, total } = await readPage(selection, planned, options, call);
  const skipped = skippedUntil(after, skip);
  return {
    uids,
    bodies,
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.key, uid: last.uid, skipped }, binding(), call.now),
    totalCount: total,
    skipped,
    measure: bytesOfRow && ((maxRows) => measureRows(selection, { maxRows, bytesOfRow }, call.db)),
  };
}

interface ReadPage extends Pick<Page, "uids" | "bodies"> {
  /** The last row, if there is another page. */
  readonly last: Pick<Row, "key" | "uid"> | undefined;
  readonly total: number | undefined;
}

/** @param planned by the resource's own counts; undefined for a resource without such */
async function readPage(
  selection: Selection,
  planned: Plan | undefined,
  { show, isShownAsStored }: ListOptions,
  call: Call,
): Promise<ReadPage> {
  const { db } = call;
  if (planned !== undefined && planned.count === undefined) {
    const found = await readFoundPage(selection, db);
    return { ...pageOf(await showRows(found, show)), total: found.total };
  }
  if (planned === undefined && isCountedPage(selection)) {
    const [range] = selection.view.ranges;
    const asStored = show === undefined || (range !== undefined && (isShownAsStored?.(range, selection.rootRows !== undefined) ?? false));
    const quick = await readCountedPage(selection, asStored, call);
    if (quick?.isAsStored) return joinedPage(quick);
    if (quick !== undefined) {
      const { rows, hasMore } = await showRows({ rows: rowsOf(quick.bodies), hasMore: quick.hasMore }, show);
      // Otherwise the page ends with a row whose key was not read.
      if (rows.length === quick.bodies.size) return { ...separate(rows), last: hasMore ? quick.last() : undefined, total: quick.total };
    }
  }
  const count = planned?.count ?? (await countRows(selection, db));
  return { ...pageOf(await showRows(await readRows(selection, count, db), show)), total: count.total };
}

function pageOf({ rows, hasMore }: CutPage<Row>): Omit<ReadPage, "total"> {
  return { ...separate(rows), last: hasMore ? rows.at(-1) : undefined };
}

function separate(rows: readonly ShownRow[]): Pick<ReadPage, "uids" | "bodies"> {
  return { uids: () => rows.map(({ uid }) => uid), bodies: new SeparateBodies(rows.map(({ body }) => body)) };
}

function joinedPage({ bodies, hasMore, last, total }: CountedPage): ReadPage {
  return { uids: () => bodies.texts.map(uidOfBody), bodies, last: hasMore ? last() : undefined, total };
}

function rowsOf({ texts }: Bodies): ShownRow[] {
  return texts.map((body) => ({ uid: uidOfBody(body), body }));
}

/** Completed bodies are larger than stored ones, so the page may become shorter. */
async function showRows<R extends ShownRow>(page: CutPage<R>, show: ListOptions["show"]): Promise<CutPage<R>> {
  const { rows, hasMore } = page;
  if (show === undefined) return page;
  const bodies = await show(rows);
  const shown = rows.map((row, i) => ({ ...row, body: bodies[i] as string }));
  const cut = cutPage(shown, shown.length, ({ body }) => Buffer.byteLength(body));
  return { rows: cut.rows, hasMore: hasMore || cut.hasMore };
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
  // PostgreSQL allows no NUL in a text, so no row can hold one.
  const isImpossible = typeof value === "string" && value.includes("\0");
  return onColumn(column, dialect, (ref) => (isImpossible ? sql<boolean>`1 = 0` : sql<boolean>`${ref} = ${value}`));
}

function confine(view: View, conditions: readonly Condition[], counted: CountKind | undefined): View {
  if (conditions.length === 0) return view;
  return { ...view, conditions: [...view.conditions, ...conditions], counted: counted === undefined ? undefined : view.counted };
}

/** The text of a condition and its values, compiled once for conditions that many lists share. */
function conditionText(condition: Condition, { db }: Call): unknown {
  const known = conditionTexts.get(condition);
  if (known !== undefined) return known;
  const { sql: text, parameters } = condition.seek.compile(db);
  const made = [text, parameters];
  conditionTexts.set(condition, made);
  return made;
}

/** A condition is made for one dialect. */
const conditionTexts = new WeakMap<Condition, unknown>();

function bindingOfList(call: Call, uidp: UIDPFilter | undefined, filters: readonly unknown[], order: Order): string {
  const hierarchy = uidp === undefined ? [] : [uidp.ancestorsOf, uidp.descendantsOf, uidp.childrenOf, uidp.inRoot, ...uidp.ids];
  return bindingOf(call, hierarchy, filters, order.column, order.descending);
}
