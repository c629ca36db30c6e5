/** One list query, as the counting and the reading of its rows share it. */
import type { RawBuilder } from "kysely";
import type { CountKind } from "../../db/resource-count.ts";
import type { Resource } from "./define.ts";
import type { Order } from "./order-by.ts";
import type { Position } from "./page-token.ts";
import type { View } from "./visible.ts";

/** Another table in which exactly the rows that meet a list's conditions are faster to count. */
export interface Entries {
  readonly table: string;
  /** The table's column of uids, as a term that makes the planner use the intended index. */
  readonly uid: RawBuilder<unknown>;
  readonly where: RawBuilder<boolean>;
  /** Whether a uid may occur several times. */
  readonly isRepeated?: boolean;
}

/** Rows in root that the caller sees although none of its scopes contains them. */
export interface RootRows {
  /** Holds for rows in root alone, and lets an index find them. */
  readonly condition: RawBuilder<boolean>;
  /** Set if statements with the condition can be prepared. */
  readonly template?: RootTemplate | undefined;
}

/** Builds conditions that differ in some values. */
export interface RootTemplate {
  /** The same for all conditions of the template on one table, and for no other conditions. */
  readonly name: string;
  /** The values of this condition, by their names. */
  readonly values: Readonly<Record<string, string>>;
  build(value: (name: string) => string): RawBuilder<boolean>;
}

export function rootRowsOf(template: RootTemplate): RootRows {
  return { condition: template.build((name) => template.values[name] ?? ""), template };
}

export interface Selection {
  readonly resource: Resource;
  readonly view: View;
  /** The maintained count to use, if the view can be counted by one. */
  readonly counted: CountKind;
  readonly entries: Entries | undefined;
  /** The index of the order can hold only the rows that meet the conditions, so that a scan passes no others. */
  readonly isIndexed: boolean;
  readonly rootRows: RootRows | undefined;
  readonly order: Order;
  readonly after: Position | undefined;
  /** The cursor of the rows in root, if the ranges begin after it and `after` is left out. */
  readonly rootAfter?: Position | undefined;
  readonly skip: number;
  readonly limit: number;
}
