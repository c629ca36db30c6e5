/** The table of a list. Rows outside of the window are not in the page; arrow keys move between rows and Enter opens one. */
import { Table, UnstyledButton } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect } from "react";
import { useVirtualRows } from "../frame/virtual-rows.ts";
import type { Column } from "./columns.ts";
import classes from "./rows.module.css";

export interface RowsProps<Item> {
  readonly title: string;
  readonly items: readonly Item[];
  readonly total: number | undefined;
  readonly columns: readonly Column<Item>[];
  readonly keyOf: (item: Item) => string;
  readonly onOpen: ((item: Item) => void) | undefined;
  readonly orderBy: string;
  readonly onOrder: (orderBy: string) => void;
  readonly hasMore: boolean;
  readonly onMore: () => void;
}

const ROW_HEIGHT = 37;
/** The next page loads when this many rows are left. */
const ROWS_AHEAD = 30;

export function Rows<Item>(props: RowsProps<Item>) {
  const { title, items, total, columns, keyOf, onOpen, orderBy, onOrder, hasMore, onMore } = props;
  const keyOfIndex = useCallback((index: number) => keyOf(items[index] as Item), [items, keyOf]);
  const { scroller, virtual, focusRow } = useVirtualRows({ count: items.length, rowHeight: ROW_HEIGHT, keyOf: keyOfIndex });
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= items.length - ROWS_AHEAD) onMore();
  }, [hasMore, last, items.length, onMore]);

  function handleKey(event: KeyboardEvent<HTMLTableRowElement>, index: number): void {
    if (event.target !== event.currentTarget) return;
    const item = items[index];
    if (event.key === "Enter" && item !== undefined) onOpen?.(item);
    const next = index + (event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0);
    if (next === index || next < 0 || next >= items.length) return;
    event.preventDefault();
    focusRow(next);
  }

  const before = visible[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (visible.at(-1)?.end ?? 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: people without a pointer scroll it by keys
    <section ref={scroller} className={classes.scroller} tabIndex={0} aria-label={title}>
      <Table stickyHeader aria-rowcount={(total ?? items.length) + 1} className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Heading key={column.id} column={column} orderBy={orderBy} onOrder={onOrder} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          <Spacer height={before} columns={columns.length} />
          {visible.map(({ index, key }) => {
            const item = items[index] as Item;
            return (
              <Table.Tr
                key={key as string}
                data-index={index}
                ref={virtual.measureElement}
                aria-rowindex={index + 2}
                tabIndex={0}
                onKeyDown={(event) => handleKey(event, index)}
              >
                {columns.map((column) => (
                  <Table.Td key={column.id}>{cellOf(column, item)}</Table.Td>
                ))}
              </Table.Tr>
            );
          })}
          <Spacer height={after} columns={columns.length} />
        </Table.Tbody>
      </Table>
    </section>
  );
}

/** Texts of the API may contain any character; `bdi` keeps their direction to themselves. */
function cellOf<Item>({ cell, text }: Column<Item>, item: Item): ReactNode {
  return cell === undefined ? <bdi className={classes.text}>{text(item)}</bdi> : cell(item);
}

function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={columns} style={{ height, padding: 0 }} />
    </tr>
  );
}

interface HeadingProps<Item> extends Pick<RowsProps<Item>, "orderBy" | "onOrder"> {
  readonly column: Column<Item>;
}

function Heading<Item>({ column: { title, orderBy: field }, orderBy, onOrder }: HeadingProps<Item>) {
  if (field === undefined) return <Table.Th scope="col">{title}</Table.Th>;
  const [orderedField, direction = "asc"] = orderBy.split(" ");
  const isOrdered = orderedField === field;
  const sort = isOrdered ? (direction === "desc" ? "descending" : "ascending") : "none";
  return (
    <Table.Th scope="col" aria-sort={sort}>
      <UnstyledButton className={classes.heading} onClick={() => onOrder(sort === "ascending" ? `${field} desc` : field)}>
        {title} <span aria-hidden>{{ ascending: "▲", descending: "▼", none: "" }[sort]}</span>
      </UnstyledButton>
    </Table.Th>
  );
}
