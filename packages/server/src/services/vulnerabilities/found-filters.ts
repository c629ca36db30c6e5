/** Filters by what few advisories have in common: names, ids, aliases, parts of texts. Each is found by its index, and counted by it as far as that is worth it. */
import type { ListAdvisoriesRequest } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { advisories } from "../../advisories/resource.ts";
import { suffixRangeOf } from "../../advisories/search-terms.ts";
import type { Dialect } from "../../db/dialect.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { and, live, within } from "../../resource/conditions.ts";
import type { Selection } from "../../resource/selection.ts";
import type { Condition } from "../../resource/visible.ts";
import { withText } from "./filter-values.ts";

type Bool = RawBuilder<boolean>;

export interface FoundFilter extends Condition {
  /** Uids of what it finds in the selection's ranges, some of them perhaps twice; perhaps more than that. */
  uids(selection: Selection): RawBuilder<{ uid: string }>;
}

type Wanted = Pick<
  ListAdvisoriesRequest,
  "advisoryIds" | "legacyAdvisoryIds" | "artifactNames" | "componentNames" | "componentLocations" | "aliases" | "origin" | "query"
>;

const MAX_QUERY = 200;

export function foundFilters(request: Wanted, dialect: Dialect): FoundFilter[] {
  const { origin = "", query } = request;
  return [
    ...named("advisory_id", request.advisoryIds, dialect),
    ...named("legacy_advisory_id", request.legacyAdvisoryIds, dialect),
    ...(origin === "" ? named("artifact_name", request.artifactNames, dialect) : [ofOrigin(origin, dialect)]),
    ...named("component_name", request.componentNames, dialect),
    ...named("component_location", request.componentLocations, dialect),
    ...aliased(request.aliases, dialect),
    ...(query === "" ? [] : [containing(query, dialect)]),
  ];
}

function named(column: string, values: readonly string[], dialect: Dialect): FoundFilter[] {
  const wanted = withText(values);
  if (wanted === undefined) return [];
  const isOne = (ref: RawBuilder<unknown>) => sql<boolean>`${ref} in (select wanted.value from ${dialect.valuesOf(wanted)} as wanted)`;
  return [byColumns(isOne(sql.ref(column)), isOne(dialect.unindexed(column)), dialect)];
}

/** Of packages that nothing is known of, the origin is the package itself. */
function ofOrigin(origin: string, dialect: Dialect): FoundFilter {
  if (origin.includes("\0")) return byColumns(sql`1 = 0`, sql`1 = 0`, dialect);
  const known = (also: Bool) => sql<boolean>`exists (select 1 from package_origin o
    where o.org_uid = substr(advisory.uid, 1, 40) and o.name = advisory.artifact_name and ${also})`;
  const isOf = sql<boolean>`(${known(sql`o.origin = ${origin}`)} or (${dialect.unindexed("artifact_name")} = ${origin} and not ${known(sql`1 = 1`)}))`;
  const names = sql`select o.name from package_origin o where o.origin = ${origin} union select ${origin}`;
  return byColumns(and([sql<boolean>`artifact_name in (${names})`, isOf]), isOf, dialect);
}

function byColumns(seek: Bool, test: Bool, dialect: Dialect): FoundFilter {
  return {
    seek,
    test,
    uids: ({ view }) =>
      sql`select uid from advisory where ${and([seek, within(view.ranges, "test", sql.ref("uid"), "advisory", dialect), ...live(advisories)])}`,
  };
}

function aliased(values: readonly string[], dialect: Dialect): FoundFilter[] {
  const wanted = withText(values);
  if (wanted === undefined) return [];
  const isOne = sql<boolean>`a.alias in (select wanted.value from ${dialect.valuesOf(wanted)} as wanted)`;
  return [byLinks(sql`advisory_alias a`, "a", isOne, isOne, dialect)];
}

/** That have the text in the name of artifact or component, or in an alias, in any case. */
function containing(query: string, dialect: Dialect): FoundFilter {
  if (query.length > MAX_QUERY) throw invalidArgument("query", `must have at most ${MAX_QUERY} characters`);
  if (query.includes("\0") || !query.isWellFormed()) return byColumns(sql`1 = 0`, sql`1 = 0`, dialect);
  const text = query.toLowerCase();
  const { lower, upper, isExact } = suffixRangeOf(text);
  const has = (term: string) => sql<boolean>`replace(${sql.ref(term)}, ${text}, '') <> ${sql.ref(term)}`;
  const ends = and([sql<boolean>`s.suffix >= ${lower} and s.suffix < ${upper} and t.term = s.term`, ...(isExact ? [] : [has("s.term")])]);
  return {
    ...byLinks(sql`advisory_suffix s cross join advisory_term t`, "t", ends, sql`1 = 1`, dialect),
    test: linked(sql`advisory_term t`, "t", has("t.term"), dialect),
  };
}

/** By a table that leads to advisories. A deleted one is not in it. */
function byLinks(from: RawBuilder<unknown>, link: string, where: Bool, test: Bool, dialect: Dialect): FoundFilter {
  const uid = sql.ref(`${link}.advisory_uid`);
  const uids = ({ view }: Pick<Selection, "view">) =>
    sql<{ uid: string }>`select ${uid} as uid from ${from} where ${and([where, within(view.ranges, "test", uid, "advisory", dialect)])}`;
  return { seek: sql<boolean>`uid in (select ${uid} from ${from} where ${where})`, test: linked(from, link, test, dialect), uids };
}

function linked(from: RawBuilder<unknown>, link: string, where: Bool, dialect: Dialect): Bool {
  return sql<boolean>`exists (select 1 from ${from} where ${sql.ref(`${link}.advisory_uid`)} = ${dialect.unindexed("advisory.uid")} and ${where})`;
}
