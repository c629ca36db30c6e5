/**
 * Maps the types of an advisory's events to their numbers in EventTypeFilter, which both versions of the API share.
 * Pure.
 */
import { type AdvisoryEvent, EventTypeFilter } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";

type Case = NonNullable<AdvisoryEvent["type"]["case"]>;

const numbers: Readonly<Record<Case, EventTypeFilter>> = {
  detection: EventTypeFilter.DETECTION,
  truePositiveDetermination: EventTypeFilter.TRUE_POSITIVE_DETERMINATION,
  fixed: EventTypeFilter.FIXED,
  falsePositiveDetermination: EventTypeFilter.FALSE_POSITIVE_DETERMINATION,
  analysisNotPlanned: EventTypeFilter.ANALYSIS_NOT_PLANNED,
  fixNotPlanned: EventTypeFilter.FIX_NOT_PLANNED,
  pendingUpstreamFix: EventTypeFilter.PENDING_UPSTREAM_FIX,
  patched: EventTypeFilter.PATCHED,
  componentLocationChanged: EventTypeFilter.COMPONENT_LOCATION_CHANGED,
};

/** UNSPECIFIED for an event without a type. */
export function eventTypeOf({ type }: Pick<AdvisoryEvent, "type">): EventTypeFilter {
  return type.case === undefined ? EventTypeFilter.UNSPECIFIED : numbers[type.case];
}
