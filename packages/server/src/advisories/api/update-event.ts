/** Changes an event of an advisory, or the state of its review. */
import { clone } from "@bufbuild/protobuf";
import { type AdvisoryEvent, AdvisoryEventSchema, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { assertNone } from "../../api/resource/names.ts";
import { notFound } from "../../lib/errors.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { parentOf } from "../../lib/uid.ts";
import { eventViolations } from "../model/event-rules.ts";
import { assertChangeable, isDecision } from "../model/review.ts";
import { assertMayDecide } from "./new-events.ts";
import { loadLive, saveAdvisory } from "./write-advisory.ts";

const encode = compileJsonEncoder(AdvisoryEventSchema);

/**
 * Replaces the event. A request without a type is not a whole event: it changes only the fields that it has, so that a reviewer can send
 * only a decision. Locks the advisory, so concurrent decisions run one after the other.
 */
export async function updateEvent(given: AdvisoryEvent, call: WriteCall): Promise<AdvisoryEvent> {
  const loaded = await loadLive(call.db, parentOf(given.id));
  const { advisory } = loaded;
  const current = advisory.events.find(({ id }) => id === given.id);
  if (current === undefined) throw notFound("AdvisoryEvent", given.id);
  const next = merge(current, given);
  assertNone(eventViolations(next));
  const isDecided = next.status !== current.status && isDecision(next.status);
  if (isDecided) next.reviewer = given.reviewer || (call.principal?.uid ?? "");
  if (encode(next) !== encode(current)) assertChangeable(current.status, next.status);
  if (isDecided) await assertMayDecide(advisory, call);
  const events = advisory.events.map((event) => (event === current ? next : event));
  const saved = await saveAdvisory(loaded, { ...advisory, events }, call);
  return saved.events.find(({ id }) => id === given.id) ?? next;
}

function merge(current: AdvisoryEvent, given: AdvisoryEvent): AdvisoryEvent {
  const next = clone(AdvisoryEventSchema, current);
  const isWhole = given.type.case !== undefined;
  if (isWhole) next.type = given.type;
  if (isWhole || given.findings.length > 0) next.findings = given.findings;
  if (isWhole) delete next.issue;
  if (given.author !== "") next.author = given.author;
  if (given.reviewer !== "") next.reviewer = given.reviewer;
  if (given.status !== ReviewStatus.UNKNOWN) next.status = given.status;
  if (given.issue !== undefined) next.issue = given.issue;
  return next;
}
