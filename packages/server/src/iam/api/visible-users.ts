/** Which people a caller sees. They stand in root, so no group that the caller may list contains them. */
import { type RawBuilder, sql } from "kysely";
import type { Call } from "../../api/call/call.ts";
import { inRanges, listCapabilities } from "../../api/resource/conditions.ts";
import { type RootRows, rootRowsOf } from "../../api/resource/selection.ts";
import { IS_IN_ROOT } from "../../api/resource/visible.ts";
import type { Dialect } from "../../db/dialect.ts";
import { rangeAtOrBelow, rootOf, type UidRange } from "../../lib/uid.ts";

/**
 * Users stand in root. The caller sees itself, and every user that is bound in a group where the caller may list identities and that
 * has joined the organization. Filters and orders must not reveal others.
 */
export function visibleUsers(call: Call): RootRows {
  const self = call.principal?.uid ?? "";
  const { dialect } = call.db;
  const scopes = call.access.scopes(listCapabilities(call));
  const [scope, ...others] = scopes;
  if (scope === undefined || others.length > 0) {
    const organizations = sql`select org.value from ${dialect.valuesOf([...new Set(scopes.map(rootOf))])} as org`;
    return { condition: usersBoundIn({ ranges: scopes.map(rangeAtOrBelow), organizations, self }, dialect) };
  }
  return rootRowsOf({
    name: "users",
    values: { self, organization: rootOf(scope), ...rangeAtOrBelow(scope) },
    build(value) {
      const ranges = [{ lower: value("lower"), upper: value("upper") }];
      return usersBoundIn({ ranges, organizations: sql`${value("organization")}`, self: value("self") }, dialect);
    },
  });
}

interface UsersTerms {
  readonly ranges: readonly UidRange[];
  /** Those of the ranges: a list of values, or a query. */
  readonly organizations: RawBuilder<unknown>;
  readonly self: string;
}

/** Starts with the people of the organizations, because an organization may have many more bindings than people. */
function usersBoundIn({ ranges, organizations, self }: UsersTerms, dialect: Dialect): RawBuilder<boolean> {
  const people = sql`select m.identity_uid from membership as m
    where m.org_uid in (${organizations}) and m.state = 'joined' and ${isBoundIn("m", ranges, dialect)}`;
  return sql<boolean>`(${IS_IN_ROOT} and ${dialect.isAmong(sql`uid`, sql`select ${self} union all ${people}`)})`;
}

/** Whether the member of an organization is bound in one of the ranges. @param member alias of a row of `membership` */
export function isBoundIn(member: string, ranges: readonly UidRange[], dialect: Dialect): RawBuilder<boolean> {
  const [uid, organization] = [sql.ref(`${member}.identity_uid`), sql.ref(`${member}.org_uid`)];
  return sql<boolean>`exists (select 1 from role_binding where identity_uid = ${uid} and length(identity_uid) = 40
    and substr(parent, 1, 40) = ${organization} and ${inRanges(ranges, "role_binding", "parent", dialect)})`;
}
