/** A source of the search, which a domain contributes: a column of names, and the index that the search reads. */
import type { SearchHit_Kind } from "@holt/api/gen/holt/v1/search_pb.ts";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { RawBuilder } from "kysely";
import type { Schema } from "../db/schema.ts";

export interface SearchSource {
  readonly kind: SearchHit_Kind;
  /** Capability of the List operation of the kind. */
  readonly capability: Capability;
  /** Its uids are below those of organizations. */
  readonly table: keyof Schema;
  /** The column of the names. Its index is `searchIndexOf`. */
  readonly column: string;
  /** Whether the index leaves out rows with a `delete_time`. */
  readonly hasDeleteTime?: boolean;
  /** SQL of the name of the resource that the row `r`, with a `uid` and a `name`, belongs to. */
  readonly context?: RawBuilder<string>;
}

/** The name of the index on organization, name in lower case, uid and name. Migrations spell it out. */
export function searchIndexOf({ table, column }: Pick<SearchSource, "table" | "column">): string {
  return `${table}_by_organization_${column}`;
}
