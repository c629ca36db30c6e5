/** The names that the search finds: columns with an index, which domains declare, and finders of other names. */
import type { SearchHit, SearchHit_Kind } from "@holt/api/gen/holt/v1/search_pb.ts";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { RawBuilder } from "kysely";
import type { Schema } from "../db/schema.ts";
import type { ReadDb } from "../db/store.ts";

/** Names of one kind. */
interface Names {
  readonly kind: SearchHit_Kind;
  /** Capability of the List operation of the kind. */
  readonly capability: Capability;
}

/** A column of names, and the index that the search reads. */
export interface SearchSource extends Names {
  /** Its uids are below those of organizations. */
  readonly table: keyof Schema;
  /** The column of the names. Its index is `searchIndexOf`. */
  readonly column: string;
  /** Whether the index leaves out rows with a `delete_time`. */
  readonly hasDeleteTime?: boolean;
  /** SQL of the name of the resource that the row `r`, with a `uid` and a `name`, belongs to. */
  readonly context?: RawBuilder<string>;
}

export interface SearchFinder extends Names {
  /** Finds names that begin with the text, and then names that contain it. */
  find(db: ReadDb, question: SearchQuestion): Promise<SearchFound>;
}

export interface SearchQuestion {
  readonly organization: string;
  /** In lower case. */
  readonly text: string;
  /** Maximum number of hits. */
  readonly pageSize: number;
  /** The topmost groups in the organization where the caller may list the kind. */
  readonly scopes: readonly string[];
}

export interface SearchFound {
  readonly hits: readonly SearchHit[];
  /** Whether there may be more hits. Of names that the caller may not see, only the number counts, not the text. */
  readonly hasMore: boolean;
}

/** Names of one kind that one call compares. With 60,000 repositories, PostgreSQL took 43 ms for it on two shared cores. */
export const MAX_COMPARED = 20_000;

/** The name of the index on organization, name in lower case, uid and name. Migrations spell it out. */
export function searchIndexOf({ table, column }: Pick<SearchSource, "table" | "column">): string {
  return `${table}_by_organization_${column}`;
}

/** Patterns of `dialect.isLike` for texts that begin with the text, and for those that contain it. */
export function searchPatterns(text: string): { readonly begins: string; readonly contains: string } {
  const escaped = text.replace(/[\\%_]/g, "\\$&");
  return { begins: `${escaped}%`, contains: `%${escaped}%` };
}
