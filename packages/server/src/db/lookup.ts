/**
 * Marks short statements: those that find a few rows by a key, or read a page of them. Several may share a connection, see
 * postgres-lookups.ts. Any other statement would make those behind it wait.
 */
import type { CompiledQuery } from "kysely";

/** The time that a lookup takes, in that of finding a row by its key. */
export type Weight = number;

/** Finds a few rows by a key. */
export const ROW: Weight = 1;
/** Reads a page of rows along an index. */
export const PAGE: Weight = 4;

type Lookup<Row> = CompiledQuery<Row> & { readonly weight: Weight };

export function asLookup<Row>(query: CompiledQuery<Row>, weight: Weight): Lookup<Row> {
  return { ...query, weight };
}

/** Undefined for a statement that is not a lookup. */
export function weightOf(query: CompiledQuery): Weight | undefined {
  return (query as Partial<Lookup<unknown>>).weight;
}
