/** Reads the pages of a list, the next one when the person asks for it. */
import type { DescMessage } from "@bufbuild/protobuf";
import { callUnaryMethod, createConnectQueryKey, useTransport } from "@connectrpc/connect-query";
import { hashKey, type Query, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { type ListSource, MAX_PAGE_SIZE, type Page, pageRequest } from "./list-method.ts";
import { type ListPage, type ListPages, type PageRange, readAgain } from "./read-again.ts";

const PAGE_SIZE = 100;
/** A list with more pages is read again only where the person sees it. */
const MAX_READ_AGAIN = 3;
/** The next page loads when this many rows are left below the visible ones. */
const ROWS_AHEAD = 42;

interface ReadList<Request extends DescMessage, Answer extends DescMessage, Item> extends ListSource<Request, Answer, Item> {
  readonly keyOf: (item: Item) => string;
  readonly refreshMs?: number;
}

export function useListPages<Request extends DescMessage, Answer extends DescMessage, Item>(
  { method, request, itemsOf, keyOf, refreshMs }: ReadList<Request, Answer, Item>,
  orderBy: string,
) {
  const transport = useTransport();
  const visible = useRef<PageRange>({ first: 0, last: 0 });
  const unordered = hashKey(queryKeyOf(""));

  function queryKeyOf(order: string): readonly unknown[] {
    const input = pageRequest(request, { pageToken: "", pageSize: PAGE_SIZE, orderBy: order });
    return createConnectQueryKey({ schema: method, input, transport, cardinality: "infinite" });
  }

  async function read(pageToken: string, pageSize: number, signal: AbortSignal): Promise<ListPage<Item>> {
    const answer = await callUnaryMethod(transport, method, pageRequest(request, { pageToken, pageSize, orderBy }), { signal });
    const { nextPageToken, totalCount } = answer as unknown as Page;
    return { items: itemsOf(answer), nextPageToken, total: totalCount === undefined ? undefined : Number(totalCount) };
  }

  const query = useInfiniteQuery({
    queryKey: queryKeyOf(orderBy),
    meta: { unordered },
    // While another order loads, the list stays, and so does the focus on its headings.
    placeholderData: (before: ListPages<Item> | undefined, queryBefore) =>
      queryBefore?.meta?.unordered === unordered ? before : undefined,
    queryFn: ({ pageParam, signal }) => read(pageParam, PAGE_SIZE, signal),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    persister: (async (readAll: () => Promise<ListPages<Item>>, { signal }: { signal: AbortSignal }, { state }: Query) => {
      const pages = state.data as ListPages<Item> | undefined;
      if (pages === undefined || pages.pages.length <= MAX_READ_AGAIN || state.fetchMeta?.fetchMore !== undefined) return readAll();
      return readAgain(pages, visible.current, { keyOf, read: (pageToken) => read(pageToken, MAX_PAGE_SIZE, signal) });
      // The types know a persister of single pages only.
    }) as never,
    refetchInterval: ({ state }) => (state.data !== undefined && state.data.pages.length > 1 ? false : (refreshMs ?? false)),
  });
  const pages = query.data?.pages;
  const { items, pageOf } = useMemo(() => joinPages(pages ?? [], keyOf), [pages, keyOf]);

  /** To be called with the rows that the person sees: reads what is missing or old there. */
  function showRows(first: number, last: number): void {
    visible.current = { first: pageOf[first] ?? 0, last: pageOf[last] ?? 0 };
    if (query.isFetching) return;
    const isOld = pages?.slice(visible.current.first, visible.current.last + 1).some((page) => page.isOld);
    // A request that failed is repeated when the person asks for it.
    if (isOld && !query.isError) void query.refetch({ cancelRefetch: false });
    else if (query.hasNextPage && !query.isFetchNextPageError && last >= items.length - ROWS_AHEAD)
      void query.fetchNextPage({ cancelRefetch: false });
  }

  return { query, items, total: (pages?.find(({ isOld }) => !isOld) ?? pages?.[0])?.total, showRows };
}

/** All entries, and the index of the page of each. An entry that has moved between two pages appears once. */
function joinPages<Item>(pages: readonly ListPage<Item>[], keyOf: (item: Item) => string) {
  const items = new Map<string, { readonly item: Item; readonly page: number }>();
  for (const [page, { items: each }] of pages.entries())
    for (const item of each) if (!items.has(keyOf(item))) items.set(keyOf(item), { item, page });
  const joined = [...items.values()];
  return { items: joined.map(({ item }) => item), pageOf: joined.map(({ page }) => page) };
}
