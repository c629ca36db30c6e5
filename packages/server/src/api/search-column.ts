/**
 * Finds names by an index on organization and lower-case name. Names that begin with the text are a range of the index. For
 * names that contain it elsewhere, a bounded number of entries is compared. An index of words would make each write of a
 * name several times as large, although names are short.
 */
import { create } from "@bufbuild/protobuf";
import { type SearchHit, SearchHitSchema } from "@holt/api/gen/holt/v1/search_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { ReadDb } from "../db/store.ts";
import { rangeAtOrBelow } from "../lib/uid.ts";
import { within } from "./resource/conditions.ts";
import {
  MAX_COMPARED,
  type SearchFinder,
  type SearchFound,
  type SearchQuestion,
  type SearchSource,
  searchIndexOf,
  searchPatterns,
} from "./search-source.ts";

/** Sorts after every other character in the byte order of both stores. */
const LAST = "\u{10ffff}";

/** Finds names in a column by its index. */
export function finderOf(source: SearchSource): SearchFinder {
  const { kind, capability } = source;
  return { kind, capability, find: (db, question) => findInColumn(db, source, question) };
}

async function findInColumn(db: ReadDb, source: SearchSource, question: SearchQuestion): Promise<SearchFound> {
  const { text, pageSize } = question;
  const key = sql`lower(${sql.ref(source.column)})`;
  const begins = await findNames(db, source, question, { range: sql`and ${key} >= ${text} and ${key} < ${text + LAST}` });
  if (begins.length > pageSize) return { hits: begins.slice(0, pageSize), hasMore: true };
  const contains = await findNames(db, source, question, { test: containsLater(text, db) });
  const hits = [...begins, ...contains];
  return { hits: hits.slice(0, pageSize), hasMore: hits.length > pageSize || (await hasUncompared(db, source, question)) };
}

/** Whether the name of the row `r` contains the text, but does not begin with it. */
function containsLater(text: string, { dialect }: ReadDb): RawBuilder<boolean> {
  const { begins, contains } = searchPatterns(text);
  const name = sql.ref("r.name");
  return sql<boolean>`${dialect.isLike(name, contains)} and not ${dialect.isLike(name, begins)}`;
}

interface Narrowing {
  /** Continues the condition that the index seeks by. */
  readonly range?: RawBuilder<unknown>;
  readonly test?: RawBuilder<boolean>;
}

/** Entries of the index in its order. The caller may see only some of them. */
function entriesOf(db: ReadDb, source: SearchSource, organization: string, range: RawBuilder<unknown> = sql``): RawBuilder<unknown> {
  const { column, table, hasDeleteTime = false } = source;
  const name = sql.ref(column);
  return sql`select uid, ${name} as name from ${db.dialect.readBy(table, searchIndexOf(source))}
    where substr(uid, 1, 40) = ${organization} ${range} ${hasDeleteTime ? sql`and delete_time is null` : sql``}
    order by lower(${name}), uid`;
}

/** Whether the organization has more names than one call compares. Depends on no text, so it tells nothing about hidden names. */
async function hasUncompared(db: ReadDb, source: SearchSource, { organization }: SearchQuestion): Promise<boolean> {
  const entries = entriesOf(db, source, organization);
  const { rows } = await sql`select 1 from (${entries} limit 1 offset ${MAX_COMPARED}) as r`.execute(db);
  return rows.length > 0;
}

/** One row more than a page, so that the caller learns whether there are more. */
async function findNames(db: ReadDb, source: SearchSource, question: SearchQuestion, narrowing: Narrowing): Promise<SearchHit[]> {
  const { kind, context = sql`''` } = source;
  const { organization, scopes, pageSize } = question;
  const { range, test = sql<boolean>`1 = 1` } = narrowing;
  const isWhole = scopes[0] === organization;
  const entries = entriesOf(db, source, organization, range);
  const visible = isWhole ? sql`1 = 1` : within(scopes.map(rangeAtOrBelow), sql.ref("r.uid"), db.dialect);
  const page = sql`select r.uid, r.name from (${entries} limit ${MAX_COMPARED}) as r where ${test} and ${visible}
    order by lower(r.name), r.uid limit ${pageSize + 1}`;
  const { rows } = await sql<{ uid: string; name: string; context: string | null }>`
    select r.uid, r.name, ${context} as context from (${page}) as r order by lower(r.name), r.uid`.execute(db);
  return rows.map((row) => create(SearchHitSchema, { kind, uid: row.uid, name: row.name, context: row.context ?? "" }));
}
