/** What one list query is about, between those who count its rows and those who read them. Types only. */
import type { RawBuilder } from "kysely";
import type { CountKind } from "../db/resource-count.ts";
import type { Resource } from "./define.ts";
import type { Order } from "./order-by.ts";
import type { Position } from "./page-token.ts";
import type { View } from "./visible.ts";

/** A query that the engine runs: the rows that are meant, in which order, and from where. */
export interface Selection {
  readonly resource: Resource;
  readonly view: View;
  /** Which maintained count holds for the view, where the view says that one does. */
  readonly counted: CountKind;
  /** Rows in root that the caller sees though none of its scopes holds them. */
  readonly beside: RawBuilder<boolean> | undefined;
  readonly order: Order;
  readonly after: Position | undefined;
  readonly skip: number;
  readonly limit: number;
}
