/**
 * Finds resources of an organization by a part of their names, with an index on organization and lower-case name. Names that
 * begin with the text are a range of the index. For names that contain it, a bounded number of entries is compared. An
 * index of words would make each write of a name several times as large, although names are short.
 */
import { create } from "@bufbuild/protobuf";
import {
  type SearchHit,
  SearchHitSchema,
  type SearchRequest,
  SearchResponseSchema,
  SearchService,
} from "@holt/api/gen/holt/v1/search_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Access } from "../access/capabilities.ts";
import { capabilitySet } from "../access/capability-set.ts";
import type { ReadDb } from "../db/store.ts";
import { invalidArgument } from "../lib/errors.ts";
import { isAtOrBelow, isInRoot, isUid, rangeAtOrBelow } from "../lib/uid.ts";
import { implement, read } from "./call/implement.ts";
import { within } from "./resource/conditions.ts";
import { type SearchSource, searchIndexOf } from "./search-source.ts";

const MIN_TEXT = 2;
const MAX_TEXT = 100;
const DEFAULT_PAGE_SIZE = 5;
const MAX_PAGE_SIZE = 20;
/** Names of one kind that one call compares. With 60,000 repositories, PostgreSQL took 43 ms for it on two shared cores. */
const MAX_COMPARED = 20_000;
/** Sorts after every other character in the byte order of both stores. */
const LAST = "\u{10ffff}";

export function searchService(sources: readonly SearchSource[]) {
  return implement(SearchService, {
    search: read(async (request, { db, access }) => {
      const question = questionFrom(request);
      const wanted = sources.filter(({ kind }) => request.kinds.length === 0 || request.kinds.includes(kind));
      const hits = new Map<string, SearchHit>();
      let incomplete = false;
      for (const source of wanted) {
        const scopes = scopesOf(source, question.organization, access);
        if (scopes.length === 0) continue;
        const found = await searchSource(db, source, { ...question, scopes });
        // Two columns may find the same row.
        for (const hit of found.hits) if (!hits.has(hit.uid)) hits.set(hit.uid, hit);
        incomplete ||= found.hasMore;
      }
      return create(SearchResponseSchema, { hits: [...hits.values()], incomplete });
    }),
  });
}

interface Question {
  readonly organization: string;
  /** In lower case. */
  readonly text: string;
  readonly pageSize: number;
}

/** @throws INVALID_ARGUMENT */
function questionFrom({ parent, text, pageSize }: SearchRequest): Question {
  if (!isUid(parent) || !isInRoot(parent)) throw invalidArgument("parent", "parent must be the uid of an organization");
  const length = [...text].length;
  if (length < MIN_TEXT || length > MAX_TEXT) throw invalidArgument("text", `text must have ${MIN_TEXT} to ${MAX_TEXT} characters`);
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE) throw invalidArgument("page_size", `page_size must be at most ${MAX_PAGE_SIZE}`);
  return { organization: parent, text: lowerCase(text), pageSize: pageSize || DEFAULT_PAGE_SIZE };
}

/** As both stores do it with the collation of names: ASCII only. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The topmost groups in the organization where the caller may list the kind. */
function scopesOf({ capability }: SearchSource, organization: string, access: Access): readonly string[] {
  const wanted = capabilitySet([capability]);
  if (access.holds(wanted, organization)) return [organization];
  return access.scopes(wanted).filter((scope) => isAtOrBelow(scope, organization));
}

interface ScopedQuestion extends Question {
  readonly scopes: readonly string[];
}

interface Found {
  readonly hits: readonly SearchHit[];
  readonly hasMore: boolean;
}

async function searchSource(db: ReadDb, source: SearchSource, question: ScopedQuestion): Promise<Found> {
  const { text, pageSize } = question;
  const key = sql`lower(${sql.ref(source.column)})`;
  const begins = await findNames(db, source, question, { range: sql`and ${key} >= ${text} and ${key} < ${text + LAST}` });
  const first = begins.hits.slice(0, pageSize);
  if (first.length === pageSize) return { hits: first, hasMore: begins.hasMore || begins.hits.length > pageSize };
  const contains = await findNames(db, source, question, { test: containsLater(text, db) });
  const hits = [...first, ...contains.hits];
  return { hits: hits.slice(0, pageSize), hasMore: hits.length > pageSize || begins.hasMore || contains.hasMore };
}

/** Whether the name of the row `r` contains the text, but does not begin with it. */
function containsLater(text: string, { dialect }: ReadDb): RawBuilder<boolean> {
  const escaped = text.replace(/[\\%_]/g, "\\$&");
  const name = sql.ref("r.name");
  return sql<boolean>`${dialect.isLike(name, `%${escaped}%`)} and not ${dialect.isLike(name, `${escaped}%`)}`;
}

interface Narrowing {
  /** Continues the condition that the index seeks by. */
  readonly range?: RawBuilder<unknown>;
  readonly test?: RawBuilder<boolean>;
}

/** One row more than a page, so that the caller learns whether there are more. */
async function findNames(db: ReadDb, source: SearchSource, question: ScopedQuestion, narrowing: Narrowing): Promise<Found> {
  const { kind, column, table, hasDeleteTime = false, context = sql`''` } = source;
  const { organization, scopes, pageSize } = question;
  const { range = sql``, test = sql<boolean>`1 = 1` } = narrowing;
  const isWhole = scopes[0] === organization;
  const name = sql.ref(column);
  // The entries of the index that are read. The caller may see only some of them.
  const stretch = sql`select uid, ${name} as name from ${db.dialect.readBy(table, searchIndexOf(source))}
    where substr(uid, 1, 40) = ${organization} ${range} ${hasDeleteTime ? sql`and delete_time is null` : sql``}
    order by lower(${name}), uid`;
  const visible = isWhole ? sql`1 = 1` : within(scopes.map(rangeAtOrBelow), sql.ref("r.uid"), db.dialect);
  const page = sql`select r.uid, r.name from (${stretch} limit ${MAX_COMPARED}) as r where ${test} and ${visible}
    order by lower(r.name), r.uid limit ${pageSize + 1}`;
  const { rows } = await sql<{ uid: string; name: string; context: string | null }>`
    select r.uid, r.name, ${context} as context from (${page}) as r order by lower(r.name), r.uid`.execute(db);
  const hits = rows.map((row) => create(SearchHitSchema, { kind, uid: row.uid, name: row.name, context: row.context ?? "" }));
  if (hits.length > pageSize) return { hits, hasMore: true };
  const { rows: beyond } = await sql`select 1 from (${stretch} limit 1 offset ${MAX_COMPARED}) as r`.execute(db);
  return { hits, hasMore: beyond.length > 0 };
}
