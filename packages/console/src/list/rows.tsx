/** The table of a list. Rows outside of the window are not in the page; keys move between rows and Enter opens one. */
import { Table, UnstyledButton } from "@mantine/core";
import { Fragment, type KeyboardEvent, type ReactNode, useCallback, useEffect, useState } from "react";
import { hasModifier, useVirtualRows } from "../frame/virtual-rows.ts";
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
  /** Gets the indexes of the first and the last row that are drawn. */
  readonly onVisible: (first: number, last: number) => void;
}

const ROW_HEIGHT = 37;
/** In characters: fits three lines of the narrowest column. */
const LONG_TEXT = 24;

export function Rows<Item>(props: RowsProps<Item>) {
  const { title, items, total, columns, keyOf, onOpen, orderBy, onOrder, onVisible } = props;
  const keyOfIndex = useCallback((index: number) => keyOf(items[index] as Item), [items, keyOf]);
  const [focused, setFocused] = useState<number>();
  const count = items.length;
  const { scroller, focusEvents, virtual, focusRow, rowAfter } = useVirtualRows({
    count,
    rowHeight: ROW_HEIGHT,
    keyOf: keyOfIndex,
    focused,
  });
  const drawn = virtual.getVirtualItems();
  const { startIndex: first = 0, endIndex: last = 0 } = virtual.range ?? {};
  useEffect(() => onVisible(first, last), [onVisible, first, last]);

  function handleKey(event: KeyboardEvent<HTMLTableRowElement>, index: number): void {
    if (event.target !== event.currentTarget || hasModifier(event)) return;
    const item = items[index];
    if (event.key === "Enter" && item !== undefined) onOpen?.(item);
    const next = rowAfter(event.key, index);
    if (next === undefined) return;
    event.preventDefault();
    setFocused(next);
    focusRow(next);
  }

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: people without a pointer scroll it by keys
    <section ref={scroller} {...focusEvents} className={classes.scroller} tabIndex={0} aria-label={title}>
      <Table stickyHeader aria-rowcount={(total ?? items.length) + 1} className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Heading key={column.id} column={column} orderBy={orderBy} onOrder={onOrder} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {drawn.map(({ index, key, start }, each) => (
            <Fragment key={key as string}>
              <Spacer height={start - (drawn[each - 1]?.end ?? 0)} columns={columns.length} />
              <Table.Tr
                data-index={index}
                ref={virtual.measureElement}
                aria-rowindex={index + 2}
                tabIndex={0}
                onFocus={() => setFocused(index)}
                onKeyDown={(event) => handleKey(event, index)}
              >
                {columns.map((column) => (
                  <Table.Td key={column.id}>{cellOf(column, items[index] as Item)}</Table.Td>
                ))}
              </Table.Tr>
            </Fragment>
          ))}
          <Spacer height={virtual.getTotalSize() - (drawn.at(-1)?.end ?? 0)} columns={columns.length} />
        </Table.Tbody>
      </Table>
    </section>
  );
}

/** Texts of the API may contain any character; `bdi` keeps their direction to themselves. */
function cellOf<Item>({ cell, text }: Column<Item>, item: Item): ReactNode {
  if (cell !== undefined) return cell(item);
  const shown = text(item);
  return <bdi className={shown.length > LONG_TEXT ? `${classes.text} ${classes.long}` : classes.text}>{shown}</bdi>;
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
