/** The properties of an object, one per line. */
import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./details.module.css";

export function Details({ rows }: { readonly rows: readonly (readonly [title: string, value: ReactNode])[] }) {
  return (
    <Table variant="vertical" withTableBorder layout="fixed">
      <Table.Tbody>
        {rows.map(([title, value]) => (
          <Table.Tr key={title}>
            <Table.Th scope="row" className={classes.title}>
              {title}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
