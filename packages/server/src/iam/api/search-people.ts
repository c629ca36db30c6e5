/** Finds people of an organization by their email address or name, among those whom the list of identities shows to the caller. */
import { create } from "@bufbuild/protobuf";
import { SearchHit_Kind, SearchHitSchema } from "@holt/api/gen/holt/v1/search_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { sql } from "kysely";
import { MAX_COMPARED, type SearchFinder, type SearchFound, type SearchQuestion, searchPatterns } from "../../api/search-source.ts";
import type { ReadDb } from "../../db/store.ts";
import { rangeAtOrBelow } from "../../lib/uid.ts";
import { isBoundIn } from "./visible-users.ts";

const kind = SearchHit_Kind.IDENTITY;

export const peopleFinder: SearchFinder = { kind, capability: Capability.CAP_IAM_IDENTITY_LIST, find: findPeople };

interface Person {
  readonly uid: string;
  readonly name: string;
  readonly email: string;
}

/** There is no index of these names: an organization has far fewer people than one call compares. */
async function findPeople(db: ReadDb, { organization, text, pageSize, scopes }: SearchQuestion): Promise<SearchFound> {
  const { dialect } = db;
  const { begins, contains } = searchPatterns(text);
  const body = dialect.asJson(sql.ref("i.body"));
  const members = sql`select m.identity_uid, m.org_uid, i.name,
      coalesce(nullif(m.email, ''), ${body} ->> 'email', ${body} ->> 'emailUnverified', '') as email
    from membership as m join identity as i on i.uid = m.identity_uid
    where m.org_uid = ${organization} and m.state = 'joined' order by m.identity_uid`;
  const has = (pattern: string) =>
    sql<boolean>`(${dialect.isLike(sql.ref("p.name"), pattern)} or ${dialect.isLike(sql.ref("p.email"), pattern)})`;
  const { rows } = await sql<Person>`select p.identity_uid as uid, p.name, p.email from (${members} limit ${MAX_COMPARED}) as p
    where ${has(contains)} and ${isBoundIn("p", scopes.map(rangeAtOrBelow), dialect)}
    order by case when ${has(begins)} then 0 else 1 end, lower(p.name), p.identity_uid limit ${pageSize + 1}`.execute(db);
  const hits = rows.slice(0, pageSize).map(({ uid, name, email }) => create(SearchHitSchema, { kind, uid, name: email || name }));
  if (rows.length > pageSize) return { hits, hasMore: true };
  const { rows: beyond } = await sql`select 1 from (${members} limit 1 offset ${MAX_COMPARED}) as p`.execute(db);
  return { hits, hasMore: beyond.length > 0 };
}
