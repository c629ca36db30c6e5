/**
 * Filters by values that few advisories share: names, ids, aliases, substrings. Each has an index that finds its rows and counts them up
 * to a limit.
 */
import type { ListAdvisoriesRequest } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { and, live, within } from "../../api/resource/conditions.ts";
import type { Selection } from "../../api/resource/selection.ts";
import type { Bool, Dialect } from "../../db/dialect.ts";
import { isStorableText } from "../../lib/clean-text.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { rootOf } from "../../lib/uid.ts";
import { advisories } from "../resource.ts";
import { suffixRangeOf } from "../storage/search-terms.ts";
import { withText } from "./filter-values.ts";

export interface FoundFilter {
  /** Tests one row. */
  readonly test: Bool;
  /** Uids of the rows that it finds in the selection's ranges; a uid may occur twice. */
  uids(selection: Selection): RawBuilder<unknown>;
  /** Set for a filter on a column of the table. */
  readonly own?: OwnColumn;
  /** True if no uid occurs twice. */
  readonly isDistinct?: boolean;
  /** The rows that must be read to find them, if they may be many more; a query for a column `term`. */
  readonly reach?: RawBuilder<unknown>;
}

/** How a filter on a column of the table finds its rows. */
interface OwnColumn {
  /** The index that finds them. */
  readonly index: string;
  /** Finds exactly these rows. */
  condition(selection: Selection): Bool;
  /** Set for one value, whose rows the index has in the order of their uids: compares the column with it. */
  readonly inOrder?: Bool;
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
  // Spelled as in the indexes that leave out rows without a value.
  const isPresent = OPTIONAL[column] ?? [];
  const filter = byColumn(column, () => and([isOne(sql.ref(column)), ...isPresent]), isOne(dialect.frequent(column)), dialect);
  if (wanted.length !== 1) return [filter];
  const inOrder = and([sql<boolean>`${sql.ref(column)} = ${wanted[0]}`, ...isPresent]);
  return [{ ...filter, own: { ...filter.own, inOrder } }];
}

const OPTIONAL: Readonly<Record<string, readonly Bool[]>> = {
  legacy_advisory_id: [sql<boolean>`legacy_advisory_id is not null`],
  component_name: [sql<boolean>`component_name <> ''`],
  component_location: [sql<boolean>`component_location <> ''`],
};

/** A package without a known origin is its own origin. */
function ofOrigin(origin: string, dialect: Dialect): FoundFilter {
  if (origin.includes("\0")) return nothing(dialect);
  const known = (also: Bool) => sql<boolean>`exists (select 1 from package_origin o
    where o.org_uid = substr(advisory.uid, 1, 40) and o.type = advisory.artifact_type and o.name = advisory.artifact_name and ${also})`;
  const isOf = sql<boolean>`(${known(sql`o.origin = ${origin}`)} or (${dialect.frequent("artifact_name")} = ${origin} and not ${known(sql`1 = 1`)}))`;
  const namesIn = ({ view }: Selection) => {
    const organizations = dialect.valuesOf([...new Set(view.ranges.map(({ lower }) => rootOf(lower)))]);
    return sql`select o.name from package_origin o where o.origin = ${origin} and o.org_uid in (select org.value from ${organizations} as org)`;
  };
  return byColumn(
    "artifact_name",
    (selection) => and([sql<boolean>`artifact_name in (${namesIn(selection)} union select ${origin})`, isOf]),
    isOf,
    dialect,
  );
}

function nothing(dialect: Dialect): FoundFilter {
  return byColumn("artifact_name", () => sql`1 = 0`, sql`1 = 0`, dialect);
}

/** @param seek a condition that the column's index serves */
function byColumn(
  column: string,
  seek: (selection: Selection) => Bool,
  test: Bool,
  dialect: Dialect,
): FoundFilter & { readonly own: OwnColumn } {
  const condition = (selection: Selection) =>
    and([seek(selection), within(selection.view.ranges, sql.ref("uid"), dialect), ...live(advisories)]);
  return {
    test,
    own: { index: `advisory_by_${column}`, condition },
    isDistinct: true,
    uids: (selection) => sql`select uid from advisory where ${condition(selection)}`,
  };
}

function aliased(values: readonly string[], dialect: Dialect): FoundFilter[] {
  const wanted = withText(values);
  if (wanted === undefined) return [];
  const isOne = sql<boolean>`a.alias in (select wanted.value from ${dialect.valuesOf(wanted)} as wanted)`;
  return [{ uids: linking(sql`advisory_alias a`, "a", isOne, dialect), test: linked(sql`advisory_alias a`, "a", isOne, dialect) }];
}

/** Advisories that contain the text in the name of the artifact or component, or in an alias, in any case. */
function containing(query: string, dialect: Dialect): FoundFilter {
  if (query.length > MAX_QUERY) throw invalidArgument("query", `must have at most ${MAX_QUERY} characters`);
  if (!isStorableText(query)) return nothing(dialect);
  const text = query.toLowerCase();
  const { lower, upper, isExact } = suffixRangeOf(text);
  const has = (term: string) => sql<boolean>`replace(${sql.ref(term)}, ${text}, '') <> ${sql.ref(term)}`;
  const ends = and([sql<boolean>`s.suffix >= ${lower} and s.suffix < ${upper}`, ...(isExact ? [] : [has("s.term")])]);
  const reach = sql`select s.term from advisory_suffix s where ${ends}`;
  return {
    uids: ({ view }) => {
      const isBelow = within(view.ranges, sql.ref("t.advisory_uid"), dialect);
      const where = and([sql<boolean>`t.term = s.term`, isBelow]);
      return dialect.lookUp(sql`t.advisory_uid as uid`, sql`(${reach}) as s`, sql`advisory_term as t`, where);
    },
    reach,
    test: linked(sql`advisory_term t`, "t", has("t.term"), dialect),
  };
}

/** Finds advisories by a table that links to them. The table has no rows of deleted advisories. */
function linking(from: RawBuilder<unknown>, link: string, where: Bool, dialect: Dialect): FoundFilter["uids"] {
  const uid = sql.ref(`${link}.advisory_uid`);
  return ({ view }) => sql`select ${uid} as uid from ${from} where ${and([where, within(view.ranges, uid, dialect)])}`;
}

function linked(from: RawBuilder<unknown>, link: string, where: Bool, dialect: Dialect): Bool {
  return sql<boolean>`exists (select 1 from ${from} where ${sql.ref(`${link}.advisory_uid`)} = ${dialect.unindexed("advisory.uid")} and ${where})`;
}
