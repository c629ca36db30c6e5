/** Adds events to an advisory: checks them, fills in defaults, and sorts them. */
import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import {
  type Advisory,
  type AdvisoryEvent,
  AdvisoryEventSchema,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { assertNone } from "../../api/resource/names.ts";
import { parseTime, timestampFromDate, timestampFromText } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { MAX_EVENTS } from "../model/advisory-rules.ts";
import { byTime } from "../model/event-order.ts";
import { eventViolations } from "../model/event-rules.ts";
import { newEventUid } from "../model/event-uid.ts";
import { isDecision } from "../model/review.ts";

const APPROVE = capabilitySet([Capability.CAP_ADVISORIES_APPROVE]);

/** @param pathOf path of an event in the request, as a prefix of field names */
export function assertEvents(given: readonly AdvisoryEvent[], pathOf: (index: number) => string): void {
  if (given.length > MAX_EVENTS) throw invalidArgument("events", `an advisory has at most ${MAX_EVENTS} events`);
  assertNone(
    given.flatMap((event, i) => eventViolations(event).map(({ field, description }) => ({ field: pathOf(i) + field, description }))),
  );
}

/** All events of the advisory with the given ones, which have been checked. A given event comes after stored events of the same time. */
export async function addEvents(advisory: Advisory, given: readonly AdvisoryEvent[], call: WriteCall): Promise<AdvisoryEvent[]> {
  const filled = given.map((event) => fillIn(event, call));
  if (filled.some(({ status }) => isDecision(status))) await assertMayDecide(advisory, call);
  const events = [...advisory.events];
  for (const event of filled.toSorted(byTime)) {
    event.id = newEventUid(advisory.id, event, events);
    events.push(event);
  }
  return events.sort(byTime);
}

/** @throws PERMISSION_DENIED */
export async function assertMayDecide({ id }: Advisory, { access, db }: WriteCall): Promise<void> {
  // Checked at the group, since a new advisory does not exist yet.
  await assertHolds({ kind: "Advisory", uid: parentOf(id) }, APPROVE, access, db);
}

function fillIn(event: AdvisoryEvent, { principal, now }: WriteCall): AdvisoryEvent {
  const caller = principal?.uid ?? "";
  const status = event.status === ReviewStatus.UNKNOWN ? ReviewStatus.PENDING : event.status;
  return create(AdvisoryEventSchema, {
    ...event,
    timestamp: event.timestamp === undefined ? timestampFromDate(now) : parsePast(event.timestamp, now),
    author: event.author || caller,
    reviewer: event.reviewer || (isDecision(status) ? caller : ""),
    status,
  });
}

/** An event may be recorded later than it happened, with the time at which it happened. */
function parsePast(timestamp: Timestamp, now: Date): Timestamp {
  const time = parseTime("timestamp", timestamp);
  if (time > now.toISOString()) throw invalidArgument("timestamp", "must not be in the future; leave it out for the current time");
  return timestampFromText(time);
}
