/** Calls a list, page after page, and prints the results. */
import type { Rest, RestRequest } from "@holt/client/rest";
import type { Invocation } from "../command/invocation.ts";
import type { OptionSpec } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import type { Row, View } from "../output/output.ts";
import type { Operation } from "./operation.ts";

const DEFAULT_LIMIT = 100;
const MAX_PAGE_SIZE = 200;
const ALL = Number.MAX_SAFE_INTEGER;

export interface ListOptions {
  /** The field of the answer that holds the results. */
  readonly items: string;
  readonly limit: number;
  readonly signal: AbortSignal;
  /** Called with the results of each page, and with the whole answer. */
  readonly onPage?: (rows: readonly Row[], answer: Row) => void;
}

export interface ListResult {
  readonly rows: readonly Row[];
  /** Whether there are more. */
  readonly isCut: boolean;
  readonly total: number | undefined;
}

export async function callList(operation: Operation, request: RestRequest, invocation: Invocation): Promise<void> {
  const { output, session, signal } = invocation;
  const { items = "", columns, paged } = operation;
  const view: View = { columns };
  const limit = paged ? limitOf(invocation) : Number.POSITIVE_INFINITY;
  const { rows, isCut, total } = await readPages(session().rest, request, { items, limit, signal });
  await output.rows(rows, columns.length === 0 ? { columns: Object.keys(rows[0] ?? {}) } : view);
  if (isCut) sayCut(rows.length, total);
}

/** The options of a command that lists; `limitOf` reads them. */
export const listOptions: readonly OptionSpec[] = [
  { name: "limit", value: "NUMBER", help: `at most as many results; ${DEFAULT_LIMIT} by default` },
  { name: "all", help: "all results" },
];

export interface ShownList {
  readonly request: RestRequest;
  readonly items: string;
  readonly view: View;
  readonly onPage?: ListOptions["onPage"];
  /** Leaves out other results. */
  readonly filter?: (row: Row) => boolean;
}

/** Reads and prints a list for a verb with `listOptions`. */
export async function showList({ request, items, view, onPage, filter }: ShownList, invocation: Invocation): Promise<void> {
  const limit = limitOf(invocation);
  const { rest } = invocation.session();
  const paging = { items, limit: filter === undefined ? limit : ALL, signal: invocation.signal, ...(onPage && { onPage }) };
  const { rows, isCut, total } = await readPages(rest, request, paging);
  const shown = filter === undefined ? rows : rows.filter(filter);
  await invocation.output.rows(shown.slice(0, limit), view);
  if (isCut || shown.length > limit) sayCut(Math.min(limit, shown.length), filter === undefined ? total : shown.length);
}

function sayCut(shown: number, total: number | undefined): void {
  process.stderr.write(`These are ${shown}${total === undefined ? "" : ` of ${total}`}; --all shows every one.\n`);
}

export function readAll(rest: Rest, request: RestRequest, items: string, signal: AbortSignal): Promise<ListResult> {
  return readPages(rest, request, { items, limit: ALL, signal });
}

/** Reads until there are `limit` results or no more pages. */
export async function readPages(rest: Rest, request: RestRequest, { items, limit, signal, onPage }: ListOptions): Promise<ListResult> {
  const rows: Row[] = [];
  let token: string | undefined;
  let total: number | undefined;
  do {
    const isBody = request.body !== undefined;
    const paging = token === undefined ? pageSize(limit - rows.length) : { ...pageSize(limit - rows.length), page_token: token };
    const next = isBody
      ? request
      : { ...request, query: { ...request.query, ...(limit < Number.POSITIVE_INFINITY || token ? paging : {}) } };
    const answer = (await rest.call({ ...next, signal })) as Record<string, unknown>;
    const page = (answer[items] as Row[] | undefined) ?? [];
    rows.push(...page);
    onPage?.(page, answer);
    token = (answer.nextPageToken as string | undefined) || undefined;
    total = answer.totalCount === undefined ? total : Number(answer.totalCount);
  } while (token !== undefined && rows.length < limit);
  return { rows: rows.slice(0, limit), isCut: token !== undefined || rows.length > limit, total };
}

function pageSize(wanted: number): { page_size: string } {
  return { page_size: String(Math.min(MAX_PAGE_SIZE, wanted)) };
}

function limitOf({ option, isSet }: Invocation): number {
  if (isSet("all")) return ALL;
  const text = option("limit");
  if (text === undefined) return DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageFailure(`--limit: "${text}" must be a positive number`);
  return Number(text);
}
