/** Reads the pages of a list, the next one when the person asks for it. */
import type { DescMessage } from "@bufbuild/protobuf";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { type ListSource, type Page, pageRequest } from "./list-method.ts";

const PAGE_SIZE = 100;

interface ReadList<Request extends DescMessage, Answer extends DescMessage, Item> extends ListSource<Request, Answer, Item> {
  readonly refreshMs?: number;
}

export function useListPages<Request extends DescMessage, Answer extends DescMessage, Item>(
  { method, request, itemsOf, refreshMs }: ReadList<Request, Answer, Item>,
  orderBy: string,
) {
  const input = pageRequest(request, { pageToken: "", pageSize: PAGE_SIZE, orderBy });
  // The types of the page token depend on the message, which is not known here.
  const query = useInfiniteQuery(method, input as never, {
    pageParamKey: "pageToken" as never,
    getNextPageParam: ((page: Page) => page.nextPageToken || undefined) as never,
    refetchInterval: ({ state }) => (state.data !== undefined && state.data.pages.length > 1 ? false : (refreshMs ?? false)),
  });
  const pages = (query.data?.pages ?? []) as unknown as Parameters<typeof itemsOf>[0][];
  return { query, items: pages.flatMap(itemsOf), total: totalOf(pages[0] as unknown as Page | undefined) };
}

function totalOf(page: Page | undefined): number | undefined {
  return page?.totalCount === undefined ? undefined : Number(page.totalCount);
}
