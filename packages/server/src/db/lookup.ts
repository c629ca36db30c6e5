/**
 * Marks statements that find a few rows by a key. They take so little time that several may share a connection: see
 * postgres-lookups.ts. Any other statement would make those behind it wait.
 */
import type { CompiledQuery } from "kysely";

type Lookup<Row> = CompiledQuery<Row> & { readonly isLookup: true };

export function asLookup<Row>(query: CompiledQuery<Row>): Lookup<Row> {
  return { ...query, isLookup: true };
}

export function isLookup(query: CompiledQuery): boolean {
  return "isLookup" in query;
}
