/** A column of a list. */
import type { ReactNode } from "react";

export interface Column<Item> {
  /** Unique in the list; part of the address. */
  readonly id: string;
  readonly title: string;
  /** The cell as text, for exports, and for the screen where `cell` is left out. */
  readonly text: (item: Item) => string;
  readonly cell?: (item: Item) => ReactNode;
  /** The field in `order_by`; left out where the API does not sort by it. */
  readonly orderBy?: string;
  /** Whether the column is left out until the person chooses it. */
  readonly isHidden?: boolean;
}

/** The columns that the address names, or else those that are not hidden. */
export function chosenColumns<Item>(columns: readonly Column<Item>[], chosen: string | undefined): readonly Column<Item>[] {
  if (chosen === undefined) return columns.filter(({ isHidden }) => !isHidden);
  const ids = new Set(chosen.split(","));
  const found = columns.filter(({ id }) => ids.has(id));
  return found.length === 0 ? columns.slice(0, 1) : found;
}
