/**
 * A list of objects of the API. Pages load as the person scrolls, and only the visible rows are in the document. Order,
 * filters and columns are in the address. The list shows the number of all matches, and exports them.
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
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
import type { ListSource } from "./list-method.ts";
import { Rows } from "./rows.tsx";
import { useListPages } from "./use-list-pages.ts";

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

export function List<Request extends DescMessage, Answer extends DescMessage, Item extends Message>(
  props: ListProps<Request, Answer, Item>,
) {
  const { title, columns, filters = [], defaultOrder = "", keyOf, onOpen } = props;
  const [search, change] = useSearchState();
  const orderBy = search.order ?? defaultOrder;
  const shown = chosenColumns(columns, search.columns);
  const { query, items, total, showRows } = useListPages(props, orderBy);
  const isFiltered = filters.some(({ id }) => search[id] !== undefined);

  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="sm">
        <FilterBar filters={filters} search={search} onChange={change} />
        <ListActions list={props} shown={shown} total={total} orderBy={orderBy} onColumns={(ids) => change({ columns: ids.join(",") })} />
      </Group>
      {query.error !== null && !query.isFetchNextPageError && (
        <ErrorAlert error={query.error} title="The list cannot be shown" onRetry={() => void query.refetch()} />
      )}
      {query.isPending && <Loading />}
      {query.isSuccess && (
        <Text size="sm" c="dimmed" role="status">
          {query.isPlaceholderData ? "Loading…" : countText(items.length, total, query.hasNextPage)}
        </Text>
      )}
      {query.isSuccess && items.length === 0 && (
        <Paper p="lg" withBorder>
          {isFiltered ? <Text>Nothing matches the filters.</Text> : props.empty}
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
          onVisible={showRows}
        />
      )}
      {query.isFetchNextPageError && (
        <ErrorAlert error={query.error} title="Further entries cannot be loaded" onRetry={() => void query.fetchNextPage()} />
      )}
    </Stack>
  );
}

interface ListActionsProps<Request extends DescMessage, Answer extends DescMessage, Item extends Message> {
  readonly list: ListProps<Request, Answer, Item>;
  readonly shown: readonly Column<Item>[];
  readonly total: number | undefined;
  readonly orderBy: string;
  readonly onColumns: (ids: readonly string[]) => void;
}

/** The choice of columns, the export, and the buttons of the screen. */
function ListActions<Request extends DescMessage, Answer extends DescMessage, Item extends Message>({
  list,
  shown,
  total,
  orderBy,
  onColumns,
}: ListActionsProps<Request, Answer, Item>) {
  const { title, columns, schema, actions } = list;
  return (
    <Group gap="xs" ml="auto">
      <ColumnMenu columns={columns} chosen={new Set(shown.map(({ id }) => id))} onChange={onColumns} />
      <ExportMenu
        name={title.toLowerCase().replaceAll(" ", "-")}
        total={total}
        run={(format, signal, onProgress) => exportList(list, { format, orderBy, columns: shown, schema, signal, onProgress })}
      />
      {actions}
    </Group>
  );
}

function countText(loaded: number, total: number | undefined, hasMore: boolean): string {
  const count = loaded.toLocaleString("en");
  if (hasMore && total === undefined) return `${count} loaded, more follow`;
  if (total !== undefined && loaded < total) return `${count} of ${total.toLocaleString("en")} loaded`;
  return loaded === 1 ? "1 entry" : `${count} entries`;
}
