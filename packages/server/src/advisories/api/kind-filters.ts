/**
 * Filters by kinds and by people (authors and reviewers). Advisories are counted by both in advance, so the total of such a filter is
 * known.
 */
import type { ListAdvisoriesRequest } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { and, live, within } from "../../api/resource/conditions.ts";
import type { Selection } from "../../api/resource/selection.ts";
import type { Bool, Dialect } from "../../db/dialect.ts";
import type { ResourceCount } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { encodePerson } from "../model/people.ts";
import { advisories } from "../resource.ts";
import { COUNTED_COLUMNS, countAdvisories, countByPeople, isInGroups, type PEOPLE_COLUMNS } from "../storage/count.ts";
import { withText } from "./filter-values.ts";

type Ref = (column: string) => RawBuilder<unknown>;

/** One condition on columns that share a maintained count. */
export interface CountedFilter {
  /** Tests one row. */
  readonly test: Bool;
  /** Uids of the rows that it finds in the selection's ranges, which are those of the groups. */
  uids(selection: Selection, groups: readonly string[]): RawBuilder<unknown>;
  count(db: ReadDb, groups: readonly string[]): Promise<ResourceCount>;
}

type Wanted = Pick<
  ListAdvisoriesRequest,
  "artifactTypes" | "artifactArchitectures" | "componentTypes" | "eventTypes" | "eventReviewStates" | "latestEventType"
>;

/** Undefined if the request does not filter by kinds. */
export function kindFilter(request: Wanted, dialect: Dialect): CountedFilter | undefined {
  const conditions = (ref: Ref): Bool[] => [
    ...oneOf(ref("artifact_type"), withText(request.artifactTypes), dialect),
    ...oneOf(ref("artifact_architecture"), withText(request.artifactArchitectures), dialect),
    ...oneOf(ref("component_type"), withText(request.componentTypes), dialect),
    ...someBit(ref("event_types"), request.eventTypes),
    ...someBit(ref("review_states"), request.eventReviewStates),
    ...(request.latestEventType ? [sql<boolean>`${ref("latest_type")} = ${request.latestEventType}`] : []),
  ];
  if (conditions(sql.ref).length === 0) return undefined;
  const where = and(conditions(sql.ref));
  return {
    test: and(conditions((column) => dialect.unindexed(column))),
    uids: (selection, groups) =>
      uidsCountedIn(
        { from: sql`advisory_count where ${isInGroups(groups, dialect)} and ${where}`, keys: COUNTED_COLUMNS, columns: COUNTED_COLUMNS },
        selection,
        dialect,
      ),
    count: (db, groups) => countAdvisories(db, groups, where),
  };
}

/** Names in one filter. */
const MAX_PEOPLE = 100;

/** @param some one of them must have a part in the advisory; empty for no such filter @param without none of them may have a part */
export function peopleFilter(
  facet: (typeof PEOPLE_COLUMNS)[number],
  some: readonly string[],
  without: readonly string[],
  dialect: Dialect,
): CountedFilter | undefined {
  const wanted = withText(some);
  const unwanted = withText(without);
  if (wanted === undefined && unwanted === undefined) return undefined;
  if ((wanted?.length ?? 0) + (unwanted?.length ?? 0) > MAX_PEOPLE)
    throw invalidArgument("", `name at most ${MAX_PEOPLE} authors or reviewers at once`);
  const conditions = (column: RawBuilder<unknown>): Bool =>
    and([
      ...(wanted === undefined
        ? []
        : [sql<boolean>`(${sql.join([sql`1 = 0`, ...wanted.map((person) => has(column, person))], sql` or `)})`]),
      ...(unwanted ?? []).map((person) => sql<boolean>`not ${has(column, person)}`),
    ]);
  const where = conditions(sql.ref("people"));
  return {
    test: conditions(dialect.unindexed(facet)),
    uids: (selection, groups) =>
      uidsCountedIn(
        {
          from: sql`advisory_people_count where ${isInGroups(groups, dialect)} and facet = ${facet} and ${where}`,
          keys: ["people"],
          columns: [facet],
        },
        selection,
        dialect,
      ),
    count: (db, groups) => countByPeople(db, facet, groups, where),
  };
}

/** Not by LIKE, which ignores case on SQLite. */
function has(column: RawBuilder<unknown>, person: string): Bool {
  return sql<boolean>`replace(${column}, ${encodePerson(person)}, '') <> ${column}`;
}

/** Rows of a table of counts. */
interface CountRows {
  /** The table with a condition. */
  readonly from: RawBuilder<unknown>;
  /** Columns of the table that identify a combination of values. */
  readonly keys: readonly string[];
  /** The columns of an advisory with these values, in the same order. */
  readonly columns: readonly string[];
}

/** The advisories of all counted combinations, each found by an index that begins with the columns. */
function uidsCountedIn({ from, keys, columns }: CountRows, { view }: Selection, dialect: Dialect): RawBuilder<unknown> {
  const combinations = sql`(select distinct ${sql.join(keys.map((key) => sql.ref(key)))} from ${from} and below > 0)`;
  const agrees = columns.map((column, i) => sql<boolean>`${sql.ref(`a.${column}`)} = ${sql.ref(`c.${keys[i]}`)}`);
  const isBelow = within(view.ranges, sql.ref("a.uid"), dialect);
  // Spelled as in the index of reviewers, which leaves out advisories without any. No filter finds those.
  const isReviewed = columns.some((column) => column === "reviewers") ? [sql<boolean>`a.reviewers <> ''`] : [];
  const where = and([...agrees, isBelow, ...isReviewed, ...live(advisories)]);
  return dialect.lookUp(sql`a.uid as uid`, sql`${combinations} as c`, sql`advisory as a`, where);
}

function oneOf(column: RawBuilder<unknown>, values: readonly string[] | undefined, dialect: Dialect): Bool[] {
  return values === undefined ? [] : [sql<boolean>`${column} in (select wanted.value from ${dialect.valuesOf(values)} as wanted)`];
}

/** Numbers without a bit match nothing. */
function someBit(column: RawBuilder<unknown>, numbers: readonly number[]): Bool[] {
  const wanted = numbers.filter((number) => number !== 0);
  if (wanted.length === 0) return [];
  const bits = wanted.filter((number) => number > 0 && number < 31).reduce((sum, number) => sum | (1 << number), 0);
  return [sql<boolean>`(${column} & ${bits}) <> 0`];
}
