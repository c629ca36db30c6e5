/** Filters by what advisories are counted by: their kinds, and who wrote or reviewed their events. What such a filter finds is known without looking. */
import type { ListAdvisoriesRequest } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { and, live, within } from "../../api/resource/conditions.ts";
import type { Selection } from "../../api/resource/selection.ts";
import type { Dialect } from "../../db/dialect.ts";
import type { ResourceCount } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { personIn } from "../model/people.ts";
import { advisories } from "../resource.ts";
import { COUNTED, countAdvisories, countByPeople, ofGroups, type PEOPLE } from "../storage/count.ts";
import { withText } from "./filter-values.ts";

type Bool = RawBuilder<boolean>;
type Ref = (column: string) => RawBuilder<unknown>;

/** One condition on columns that are counted together. */
export interface CountedFilter {
  /** As it is tested on a row. */
  readonly test: Bool;
  /** Uids of what it finds in the selection's ranges, which are those of the groups. */
  uids(selection: Selection, groups: readonly string[]): RawBuilder<unknown>;
  count(db: ReadDb, groups: readonly string[]): Promise<ResourceCount>;
}

type Wanted = Pick<
  ListAdvisoriesRequest,
  "artifactTypes" | "artifactArchitectures" | "componentTypes" | "eventTypes" | "eventReviewStates" | "latestEventType"
>;

/** Undefined where nothing is asked of kinds. */
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
      counted(selection, sql`advisory_count where ${ofGroups(groups, dialect)} and ${where}`, COUNTED, COUNTED, dialect),
    count: (db, groups) => countAdvisories(db, groups, where),
  };
}

/** More than a person would name. */
const MAX_PEOPLE = 100;

/** @param without those who must not be among them */
export function peopleFilter(
  facet: (typeof PEOPLE)[number],
  some: readonly string[],
  without: readonly string[],
  dialect: Dialect,
): CountedFilter | undefined {
  const [wanted, unwanted] = [withText(some), withText(without)];
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
      counted(
        selection,
        sql`advisory_people_count where ${ofGroups(groups, dialect)} and facet = ${facet} and ${where}`,
        ["people"],
        [facet],
        dialect,
      ),
    count: (db, groups) => countByPeople(db, facet, groups, where),
  };
}

/** Not LIKE, which has no regard for case on SQLite. */
function has(column: RawBuilder<unknown>, person: string): Bool {
  return sql<boolean>`replace(${column}, ${personIn(person)}, '') <> ${column}`;
}

/** The advisories of all combinations that are counted there: each found by an index that begins with the columns. */
function counted(
  { view }: Selection,
  from: RawBuilder<unknown>,
  keys: readonly string[],
  columns: readonly string[],
  dialect: Dialect,
): RawBuilder<unknown> {
  const combinations = sql`(select distinct ${sql.join(keys.map((key) => sql.ref(key)))} from ${from} and below > 0)`;
  const agrees = columns.map((column, i) => sql<boolean>`${sql.ref(`a.${column}`)} = ${sql.ref(`c.${keys[i]}`)}`);
  const isBelow = within(view.ranges, "test", sql.ref("a.uid"), "advisory", dialect);
  const where = and([...agrees, isBelow, ...live(advisories)]);
  return dialect.lookUp(sql`a.uid as uid`, sql`${combinations} as c`, sql`advisory as a`, where);
}

function oneOf(column: RawBuilder<unknown>, values: readonly string[] | undefined, dialect: Dialect): Bool[] {
  return values === undefined ? [] : [sql<boolean>`${column} in (select wanted.value from ${dialect.valuesOf(values)} as wanted)`];
}

/** Numbers that no bit can stand for are of nothing. */
function someBit(column: RawBuilder<unknown>, numbers: readonly number[]): Bool[] {
  const wanted = numbers.filter((number) => number !== 0);
  if (wanted.length === 0) return [];
  const bits = wanted.filter((number) => number > 0 && number < 31).reduce((sum, number) => sum | (1 << number), 0);
  return [sql<boolean>`(${column} & ${bits}) <> 0`];
}
