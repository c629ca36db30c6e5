/** Finds people of an organization by their email address or name, among those whom the list of identities shows to the caller. */
import { create } from "@bufbuild/protobuf";
import { SearchHit_Kind, SearchHitSchema } from "@holt/api/gen/holt/v1/search_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { type SearchFinder, type SearchFound, type SearchQuestion, searchPatterns } from "../../api/search-source.ts";
import type { ReadDb } from "../../db/store.ts";
import { rangeAtOrBelow } from "../../lib/uid.ts";
import { isBoundIn } from "./visible-users.ts";

const kind = SearchHit_Kind.IDENTITY;

/** Members that one call compares. There is no index of their addresses, so each one's identity is read. */
const MAX_MEMBERS = 5000;

export const peopleFinder: SearchFinder = { kind, capability: Capability.CAP_IAM_IDENTITY_LIST, find: findPeople };

async function findPeople(db: ReadDb, { organization, text, pageSize, scopes }: SearchQuestion): Promise<SearchFound> {
  const { dialect } = db;
  const { begins, contains } = searchPatterns(text);
  const body = dialect.asJson(sql.ref("i.body"));
  // The address from the organization's own provider, those of the person, and the name, as lists show them.
  const names = [sql.ref("m.email"), sql`${body} ->> 'email'`, sql`${body} ->> 'emailUnverified'`, sql.ref("i.name")];
  const cases = (pattern: string) => names.map((name: RawBuilder<unknown>) => sql`when ${dialect.isLike(name, pattern)} then ${name}`);
  const found = sql`case ${sql.join([...cases(begins), ...cases(contains)], sql` `)} end`;
  const members = sql`select identity_uid, org_uid, email from membership
    where org_uid = ${organization} and state = 'joined' order by identity_uid`;
  const people = sql`select m.identity_uid, m.org_uid, ${found} as name
    from (${members} limit ${MAX_MEMBERS}) as m join identity as i on i.uid = m.identity_uid`;
  const { rows } = await sql<{ uid: string; name: string }>`select p.identity_uid as uid, p.name from (${people}) as p
    where p.name is not null and ${isBoundIn("p", scopes.map(rangeAtOrBelow), dialect)}
    order by case when ${dialect.isLike(sql.ref("p.name"), begins)} then 0 else 1 end, lower(p.name), p.identity_uid
    limit ${pageSize + 1}`.execute(db);
  const hits = rows.slice(0, pageSize).map(({ uid, name }) => create(SearchHitSchema, { kind, uid, name }));
  if (rows.length > pageSize) return { hits, hasMore: true };
  const { rows: beyond } = await sql`select 1 from (${members} limit 1 offset ${MAX_MEMBERS}) as m`.execute(db);
  return { hits, hasMore: beyond.length > 0 };
}
