/** Puts only the visible rows of a long list into the page, and moves the focus to any row. */
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type FocusEvent, type KeyboardEvent, useEffect, useRef } from "react";
import { focusScreenIfLost, isFocusLost } from "./focus-return.ts";

export interface VirtualRowsOptions {
  readonly count: number;
  /** In pixels; an estimate for rows that are measured. */
  readonly rowHeight: number;
  /** All rows are measured again if this function changes. */
  readonly keyOf: (index: number) => string | number;
  /** Index of the row that has the focus, or had it last. It stays in the page while others scroll, so that it keeps the focus. */
  readonly focused: number | undefined;
}

/** The element of a row needs the attribute `data-index`. */
export function useVirtualRows({ count, rowHeight, keyOf, focused }: VirtualRowsOptions) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    overscan: 12,
    rangeExtractor: (range) => withRow(range, focused),
  });

  const hasFocus = useRef(false);
  // The row that had the focus may have left the list. The one in its place gets it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each change of the rows
  useEffect(() => {
    if (hasFocus.current && isFocusLost() && count > 0) focusRow(Math.min(focused ?? 0, count - 1));
  }, [count, keyOf]);
  useEffect(
    () => () => {
      if (hasFocus.current) focusScreenIfLost();
    },
    [],
  );
  const focusEvents = {
    // React also reports the focus of a dialog that a row has opened.
    onFocus: ({ target }: FocusEvent) => {
      hasFocus.current = scroller.current?.contains(target) ?? false;
    },
    onBlur: () => {
      hasFocus.current = false;
    },
  };

  function focusRow(index: number): void {
    const rowOf = () => scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`);
    const row = rowOf();
    if (row) {
      row.focus();
      return;
    }
    virtual.scrollToIndex(index);
    // The row is drawn after this task.
    requestAnimationFrame(() => rowOf()?.focus());
  }

  /** The row that a key leads to from another one; undefined for other keys. */
  function rowAfter(key: string, index: number): number | undefined {
    const { startIndex = 0, endIndex = 0 } = virtual.range ?? {};
    const page = Math.max(1, endIndex - startIndex - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
    const step = steps[key];
    return step === undefined ? undefined : Math.max(0, Math.min(count - 1, index + step));
  }

  return { scroller, focusEvents, virtual, focusRow, rowAfter };
}

/** Whether the keys belong to the browser, such as Alt and an arrow, which goes back. */
export function hasModifier({ altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return altKey || ctrlKey || metaKey;
}

function withRow(range: Range, row: number | undefined): number[] {
  const indexes = defaultRangeExtractor(range);
  if (row === undefined || row >= range.count || indexes.includes(row)) return indexes;
  return [...indexes, row].sort((a, b) => a - b);
}
