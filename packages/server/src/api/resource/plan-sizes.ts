/**
 * Sizes of lists whose rows are counted, which choose the plan of a page. They are never answered, so those of an earlier call will do.
 */
import { type RawBuilder, sql } from "kysely";
import { ROW } from "../../db/lookup.ts";
import { type Placeholders, prepareEach } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import { Lru } from "../../lib/lru.ts";
import type { Call } from "../call/call.ts";
import { isFirstPageSorted } from "./read-rows.ts";
import type { Selection } from "./selection.ts";

export type Moment = Pick<Call, "db" | "now">;

interface Sizes {
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

async function readSizes(selection: Selection, { db, now }: Moment): Promise<Sizes> {
  const sizes = (await sizesStatement(selection).first(db, valuesOf(selection))) ?? { total: 0, all: 0 };
  const known = sizesOf.get(db) ?? new Lru(MAX_SIZES);
  sizesOf.set(db, known);
  known.set(nameOfSizes(selection), { ...sizes, readAt: now.getTime() });
  return sizes;
}

function nameOfSizes({ resource, counted, view }: Selection): string {
  return `${resource.table} ${counted} ${view.counted?.direct} ${view.counted?.groups[0]}`;
}

/** A group is in its own scope; rows of other resources never have a group's uid. */
export function groupsThemselves({ resource, view }: Selection): number {
  return view.counted?.itself && resource.table === "group" ? view.counted.groups.length : 0;
}

/** The values of `countedTotal`. */
export interface CountValues {
  readonly group: string;
  readonly kind: string;
}

interface SizesValues extends CountValues {
  readonly table: string;
}

const sizesStatement = prepareEach<Selection, SizesValues, Sizes>(
  (selection) => (db, param) =>
    sql<Sizes>`select ${countedTotal(selection, param)} as total, ${sumOf("below", "/", param("table"))} as "all"`.compile(db),
  ({ view }) => `${view.counted?.direct}`,
  { capacity: 2, weight: ROW },
);

/** SQL of the rows of a list by the maintained counts. */
export function countedTotal({ view }: Selection, param: Placeholders<CountValues>): RawBuilder<unknown> {
  return sumOf(view.counted?.direct ? "direct" : "below", param("group"), param("kind"));
}

function sumOf(column: string, group: unknown, kind: unknown): RawBuilder<unknown> {
  const sum = sql`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;
  return sql`(select ${sum} from resource_count where group_uid = ${group} and kind = ${kind})`;
}

function valuesOf(selection: Selection): SizesValues {
  return { ...countValuesOf(selection), table: selection.resource.table };
}

export function countValuesOf({ counted, view }: Selection): CountValues {
  return { group: view.counted?.groups[0] ?? "", kind: counted };
}
