/** A statement that runs once for each of several rows of parameters. The connection runs them without waiting in between. */
import type { CompiledQuery } from "kysely";

/** `parameters` has an element for each run. Only stores in this process can run it. */
export interface RepeatedQuery extends CompiledQuery {
  readonly parameters: readonly (readonly unknown[])[];
  readonly isRepeated: true;
}

export function isRepeated(query: CompiledQuery): query is RepeatedQuery {
  return "isRepeated" in query;
}
