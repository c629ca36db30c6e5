/**
 * A list of objects of the API. Pages load as the person scrolls, and only the visible rows are in the document. Order,
 * filters and columns are in the address. The list shows the number of all matches, and exports them.
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Group, Paper, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { useSearchState } from "../frame/search.ts";
import { type Column, chosenColumns } from "./columns.ts";
import { exportList } from "./export.ts";
import { ExportMenu } from "./export-menu.tsx";
import { ColumnMenu, FilterBar } from "./filter-bar.tsx";
import type { Filter } from "./filters.ts";
import { type ListSource, type Page, pageRequest } from "./list-method.ts";
import { Rows } from "./rows.tsx";

export interface ListProps<Request extends DescMessage, Answer extends DescMessage, Item extends Message>
  extends ListSource<Request, Answer, Item> {
  /** Names the list: "Groups". */
  readonly title: string;
  readonly columns: readonly Column<Item>[];
  readonly keyOf: (item: Item) => string;
  /** The screen that Enter opens. */
  readonly onOpen?: (item: Item) => void;
  /** The message of the items. */
  readonly schema: DescMessage;
  /** `request` must apply them; the list only shows them. */
  readonly filters?: readonly Filter[];
  /** In the form of `order_by`, such as `name desc`; left out where the operation has one order only. */
  readonly defaultOrder?: string;
  /** Says what to do next where nothing matches. */
  readonly empty: ReactNode;
  /** Buttons beside the filters. */
  readonly actions?: ReactNode;
  /** In milliseconds: reads a list that changes by itself again this often, until the person loads a second page. */
  readonly refreshMs?: number;
}

const PAGE_SIZE = 100;

export function List<Request extends DescMessage, Answer extends DescMessage, Item extends Message>(
  props: ListProps<Request, Answer, Item>,
) {
  const { title, method, request, itemsOf, columns, schema, filters = [], defaultOrder = "", empty, actions, keyOf, onOpen } = props;
  const { refreshMs = false } = props;
  const [search, change] = useSearchState();
  const orderBy = search.order ?? defaultOrder;
  const shown = chosenColumns(columns, search.columns);
  const input = pageRequest(request, { pageToken: "", pageSize: PAGE_SIZE, orderBy });
  // The types of the page token depend on the message, which is not known here.
  const query = useInfiniteQuery(method, input as never, {
    pageParamKey: "pageToken" as never,
    getNextPageParam: ((page: Page) => page.nextPageToken || undefined) as never,
    refetchInterval: ({ state }) => (state.data !== undefined && state.data.pages.length > 1 ? false : refreshMs),
  });
  const pages = (query.data?.pages ?? []) as unknown as Parameters<typeof itemsOf>[0][];
  const items = pages.flatMap(itemsOf);
  const total = totalOf(pages[0] as unknown as Page | undefined);
  const isFiltered = filters.some(({ id }) => search[id] !== undefined);

  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="sm">
        <FilterBar filters={filters} search={search} onChange={change} />
        <Group gap="xs" ml="auto">
          <ColumnMenu
            columns={columns}
            chosen={new Set(shown.map(({ id }) => id))}
            onChange={(ids) => change({ columns: ids.join(",") })}
          />
          <ExportMenu
            name={title.toLowerCase().replaceAll(" ", "-")}
            total={total}
            run={(format, signal, onProgress) =>
              exportList({ method, request, itemsOf }, { format, orderBy, columns: shown, schema, signal, onProgress })
            }
          />
          {actions}
        </Group>
      </Group>
      {query.error !== null && !query.isFetchNextPageError && (
        <ErrorAlert error={query.error} title="The list cannot be shown" onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <Loading />}
      {query.isSuccess && (
        <Text size="sm" c="dimmed" role="status">
          {countText(items.length, total, query.hasNextPage)}
        </Text>
      )}
      {query.isSuccess && items.length === 0 && (
        <Paper p="lg" withBorder>
          {isFiltered ? <Text>Nothing matches the filters.</Text> : empty}
        </Paper>
      )}
      {items.length > 0 && (
        <Rows
          title={title}
          items={items}
          total={total}
          columns={shown}
          keyOf={keyOf}
          onOpen={onOpen}
          orderBy={orderBy}
          onOrder={(order) => change({ order })}
          // A page that failed is read again when the person asks for it.
          hasMore={query.hasNextPage && !query.isFetchingNextPage && !query.isFetchNextPageError}
          onMore={() => void query.fetchNextPage()}
        />
      )}
      {query.isFetchNextPageError && (
        <ErrorAlert error={query.error} title="Further entries cannot be loaded" onRetry={() => void query.fetchNextPage()} />
      )}
    </Stack>
  );
}

function totalOf(page: Page | undefined): number | undefined {
  return page?.totalCount === undefined ? undefined : Number(page.totalCount);
}

function countText(loaded: number, total: number | undefined, hasMore: boolean): string {
  const count = loaded.toLocaleString("en");
  if (hasMore && total === undefined) return `${count} loaded, more follow`;
  if (total !== undefined && loaded < total) return `${count} of ${total.toLocaleString("en")} loaded`;
  return loaded === 1 ? "1 entry" : `${count} entries`;
}
