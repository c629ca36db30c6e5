/** A column that shows a time of each item. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Time, timeText } from "../object/time.tsx";
import type { Column } from "./columns.ts";

interface TimeColumn<Item> extends Omit<Column<Item>, "text" | "cell"> {
  readonly time: (item: Item) => Timestamp | undefined;
}

export function timeColumn<Item>({ time, ...column }: TimeColumn<Item>): Column<Item> {
  return { ...column, text: (item) => timeText(time(item)), cell: (item) => <Time value={time(item)} /> };
}
