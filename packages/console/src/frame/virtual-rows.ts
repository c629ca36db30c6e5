/** Puts only the visible rows of a long list into the page, and moves the focus to any row. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

export interface VirtualRowsOptions {
  readonly count: number;
  /** In pixels; an estimate for rows that are measured. */
  readonly rowHeight: number;
  /** All rows are measured again if this function changes. */
  readonly keyOf: (index: number) => string | number;
}

/** The element of a row needs the attribute `data-index`. */
export function useVirtualRows({ count, rowHeight, keyOf }: VirtualRowsOptions) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    overscan: 12,
  });

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

  return { scroller, virtual, focusRow };
}
