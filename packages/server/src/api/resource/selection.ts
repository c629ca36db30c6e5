/** What one list query is about, between those who count its rows and those who read them. Types only. */
import type { RawBuilder } from "kysely";
import type { CountKind } from "../../db/resource-count.ts";
import type { Resource } from "./define.ts";
import type { Order } from "./order-by.ts";
import type { Position } from "./page-token.ts";
import type { View } from "./visible.ts";

/** Where the rows that meet a list's conditions, and no others, are faster to count: a table, its column of uids, and what finds them in it. */
export interface Entries {
  readonly table: string;
  /** As a term that lets no other index be chosen than the one that is meant. */
  readonly uid: RawBuilder<unknown>;
  readonly where: RawBuilder<boolean>;
  /** Whether one may be there several times. */
  readonly isRepeated?: boolean;
}

/** A query that the engine runs: the rows that are meant, in which order, and from where. */
export interface Selection {
  readonly resource: Resource;
  readonly view: View;
  /** Which maintained count holds for the view, where the view says that one does. */
  readonly counted: CountKind;
  readonly entries: Entries | undefined;
  /** The index of the order can hold just the rows that meet the conditions, so a walk passes no others. */
  readonly isIndexed: boolean;
  /** Rows in root that the caller sees though none of its scopes holds them. */
  readonly beside: RawBuilder<boolean> | undefined;
  readonly order: Order;
  readonly after: Position | undefined;
  readonly skip: number;
  readonly limit: number;
}
