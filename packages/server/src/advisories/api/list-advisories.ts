/** Lists advisories by all filters of the API, for both of its versions. */
import type { ListAdvisoriesRequest } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { sql } from "kysely";
import type { Call } from "../../api/call/call.ts";
import { type ListOptions, type ListRequest, listPage, type Page } from "../../api/resource/list.ts";
import type { Dialect } from "../../db/dialect.ts";
import { isUid } from "../../lib/uid.ts";
import { advisories } from "../resource.ts";
import { foundFilters } from "./found-filters.ts";
import { kindFilter, peopleFilter } from "./kind-filters.ts";
import { type AdvisoryFilters, planAdvisories } from "./plan-advisories.ts";

type Filters = Pick<
  ListAdvisoriesRequest,
  | "advisoryIds"
  | "legacyAdvisoryIds"
  | "artifactNames"
  | "artifactTypes"
  | "artifactArchitectures"
  | "componentNames"
  | "componentTypes"
  | "componentLocations"
  | "aliases"
  | "origin"
  | "eventReviewStates"
  | "eventAuthors"
  | "excludeEventAuthors"
  | "eventReviewers"
  | "eventTypes"
  | "latestEventType"
  | "query"
>;

/** The request of either version. */
export interface AdvisoryListRequest extends ListRequest, Filters {
  /** Only this one. */
  readonly uid?: string;
}

/** Stands for a malformed uid, which matches nothing. */
const NOWHERE = "none";

export interface AdvisoryListOptions extends Pick<ListOptions, "pageTokens" | "show"> {
  /** With the columns that the version may order by. */
  readonly resource?: typeof advisories;
}

export function listAdvisories(request: AdvisoryListRequest, call: Call, options: AdvisoryListOptions): Promise<Page> {
  const { resource = advisories, ...reading } = options;
  const { counted, found } = filtersOf(request, call.db.dialect);
  const uid = request.uid === undefined || isUid(request.uid) ? request.uid : NOWHERE;
  if (counted.length === 0 && found.length === 0 && uid === undefined)
    return listPage(resource, request, call, { ...reading, counted: "advisory" });
  // The page token is bound to these conditions.
  const asked = [...[...counted, ...found].map(({ test }) => test), ...(uid === undefined ? [] : [sql<boolean>`uid = ${uid}`])];
  return listPage(resource, request, call, {
    ...reading,
    conditions: asked.map((condition) => ({ seek: condition, test: condition })),
    plan: (selection, db) => planAdvisories({ counted, found, uid }, selection, db),
  });
}

export function filtersOf(request: Filters, dialect: Dialect): Pick<AdvisoryFilters, "counted" | "found"> {
  const counted = [
    kindFilter(request, dialect),
    peopleFilter("authors", request.eventAuthors, request.excludeEventAuthors, dialect),
    peopleFilter("reviewers", request.eventReviewers, [], dialect),
  ];
  return { counted: counted.flatMap((filter) => filter ?? []), found: foundFilters(request, dialect) };
}
