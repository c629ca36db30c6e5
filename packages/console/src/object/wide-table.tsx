/** A table that scrolls by itself where it is wider than the screen. */
import { Table } from "@mantine/core";
import type { ReactNode } from "react";

export interface WideTableProps {
  /** Names the table. */
  readonly title: string;
  readonly children: ReactNode;
}

export function WideTable({ title, children }: WideTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: people without a pointer scroll it by keys
    <section aria-label={title} tabIndex={0} style={{ overflowX: "auto" }}>
      <Table>{children}</Table>
    </section>
  );
}
