/**
 * Sizes of lists whose rows are counted, which choose the plan of a page. They are never answered, so those of an earlier call will do.
 */
import { sql } from "kysely";
import { ROW } from "../../db/lookup.ts";
import { type Placeholders, prepareEach } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { Lru } from "../../lib/lru.ts";
import type { Call } from "../call/call.ts";
import { isFirstPageSorted } from "./read-rows.ts";
import type { Selection } from "./selection.ts";

export type Moment = Pick<Call, "db" | "now">;

export interface Sizes {
  /** By the maintained counts. */
  readonly total: number;
  /** Rows of the table. */
  readonly all: number;
}

/** By store and list. */
const sizesOf = new WeakMap<ReadDb, Lru<string, Sizes & { readonly readAt: number }>>();
const MAX_SIZES = 2000;
const SIZES_MS = 10_000;

export async function isSortedBySizes(selection: Selection, call: Moment): Promise<boolean> {
  const known = sizesOf.get(call.db)?.get(nameOfSizes(selection));
  const isRecent = known !== undefined && call.now.getTime() - known.readAt < SIZES_MS;
  const { total, all } = isRecent ? known : await readSizes(selection, call);
  return isFirstPageSorted(selection, total + groupsThemselves(selection), all);
}

async function readSizes(selection: Selection, call: Moment): Promise<Sizes> {
  const sizes = (await sizesStatement(selection).first(call.db, countValuesOf(selection))) ?? { total: 0, all: 0 };
  rememberSizes(selection, sizes, call);
  return sizes;
}

export function rememberSizes(selection: Selection, sizes: Sizes, { db, now }: Moment): void {
  const known = sizesOf.get(db) ?? new Lru(MAX_SIZES);
  sizesOf.set(db, known);
  known.set(nameOfSizes(selection), { ...sizes, readAt: now.getTime() });
}

function nameOfSizes({ resource, counted, view }: Selection): string {
  return `${resource.table} ${counted} ${view.counted?.direct} ${view.counted?.groups[0]}`;
}

/** A group is in its own scope; rows of other resources never have a group's uid. */
export function groupsThemselves({ resource, view }: Selection): number {
  return view.counted?.itself && resource.table === "group" ? view.counted.groups.length : 0;
}

export interface CountValues {
  readonly group: string;
  readonly kind: string;
  readonly table: string;
}

const sizesStatement = prepareEach<Selection, CountValues, Sizes>(
  (selection) => (db, param) => sql<Sizes>`select ${sizeColumns(selection, param)}`.compile(db),
  ({ view }) => `${view.counted?.direct}`,
  { capacity: 2, weight: ROW },
);

/** SQL of the columns of `Sizes`. */
export function sizeColumns({ view }: Selection, param: Placeholders<CountValues>) {
  const sum = (column: string, group: unknown, kind: string) =>
    sql`(select cast(coalesce(sum(${sql.ref(column)}), 0) as bigint) from resource_count where group_uid = ${group} and kind = ${kind})`;
  const total = sum(view.counted?.direct ? "direct" : "below", param("group"), param("kind"));
  return sql`${total} as total, ${sum("below", "/", param("table"))} as "all"`;
}

export function countValuesOf({ resource, counted, view }: Selection): CountValues {
  return { group: view.counted?.groups[0] ?? "", kind: counted, table: resource.table };
}
