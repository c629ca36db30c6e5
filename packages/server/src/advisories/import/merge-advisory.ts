/** What a record adds to what is stored of its advisory: events and aliases that are not known yet. Nothing stored is changed or removed. Pure. */
import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import {
  type Advisory,
  type AdvisoryEvent,
  AdvisoryEventSchema,
  AdvisorySchema,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { dateFromTimestamp, timestampFromDate } from "../../lib/clock.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { byTime } from "../model/event-order.ts";
import { newEventUid } from "../model/event-uid.ts";
import { eventUids } from "./neighbouring-uids.ts";
import type { AdvisoryRecord, EventRecord } from "./record.ts";

export interface Authorship {
  readonly actor: string;
  readonly approves: boolean;
  readonly mayDelete: boolean;
  readonly now: Date;
}

const encodeEvent = compileJsonEncoder(AdvisoryEventSchema);
/** To be spread: `create` looks at every field, which for four events of an advisory is most of an import's work. */
const emptyEvent = create(AdvisoryEventSchema);
const emptyAdvisory = create(AdvisorySchema);
const epoch = create(TimestampSchema);

/** One that is not stored yet. */
export function advisoryFromRecord(uid: string, record: AdvisoryRecord, authorship: Authorship): Advisory {
  const { advisoryId, artifactName, artifactType, artifactArchitecture, componentName, componentType, withdrawn } = record;
  const now = timestampFromDate(authorship.now);
  const advisory: Advisory = {
    ...emptyAdvisory,
    ...{ id: uid, advisoryId, artifactName, artifactType, artifactArchitecture, author: authorship.actor, createdAt: now, updatedAt: now },
    ...(componentName !== "" && { componentName, componentType }),
    ...(withdrawn !== undefined && { deletedAt: timestampFromDate(new Date(withdrawn)) }),
  };
  return added(advisory, [], record.events, [], record.aliases, authorship);
}

/** Whether what its source withdrew would be deleted here by somebody who may not delete. */
export function isBeyondRights(stored: Advisory | undefined, { withdrawn }: AdvisoryRecord, { mayDelete }: Authorship): boolean {
  return withdrawn !== undefined && !mayDelete && stored?.deletedAt === undefined;
}

/** Undefined where everything is known already. */
export function merge(stored: Advisory, record: AdvisoryRecord, authorship: Authorship): Advisory | undefined {
  const known = new Set(stored.events.flatMap((event) => keysOf(event)));
  const events = record.events.filter((event) => !known.has(keyOf(event)));
  // By its names, what was approved is joined with others: new ones would carry the approval where nobody meant it.
  const isNameable = authorship.approves || !stored.events.some(({ status }) => status === ReviewStatus.APPROVED);
  const aliases = isNameable ? record.aliases.filter((alias) => !stored.aliases.includes(alias)) : [];
  const isWithdrawn = record.withdrawn !== undefined && stored.deletedAt === undefined;
  if (events.length === 0 && aliases.length === 0 && !isWithdrawn) return undefined;
  const changed: Advisory = { ...stored, updatedAt: timestampFromDate(authorship.now) };
  if (isWithdrawn) changed.deletedAt = timestampFromDate(new Date(record.withdrawn));
  return added(changed, stored.events, events, stored.aliases, aliases, authorship);
}

function added(
  to: Advisory,
  events: readonly AdvisoryEvent[],
  newEvents: readonly EventRecord[],
  aliases: readonly string[],
  newAliases: readonly string[],
  authorship: Authorship,
): Advisory {
  const made = eventsFrom(to.id, newEvents, authorship);
  const placed = [...events];
  for (const event of made) {
    // Those that are stored come first where times are the same.
    const id = events.length === 0 ? event.id : newEventUid(to.id, event, placed);
    placed.push({ ...event, id });
  }
  to.events = placed.sort(byTime);
  to.aliases = [...aliases, ...newAliases];
  return to;
}

/** Each once. Those of one time stay in their order. */
function eventsFrom(advisory: string, records: readonly EventRecord[], { actor, approves }: Authorship): AdvisoryEvent[] {
  const unique = records.length < 2 ? records : [...new Map(records.map((record) => [JSON.stringify(record), record])).values()];
  const uids = eventUids(advisory, unique.length);
  const status = approves ? ReviewStatus.APPROVED : ReviewStatus.PENDING;
  return unique.map(({ time, type }, index) => ({
    ...emptyEvent,
    id: uids[index]!,
    timestamp: timestampOf(time),
    status,
    author: actor,
    type: typeOf(type),
  }));
}

function timestampOf(ms: number): Advisory["createdAt"] & object {
  const seconds = Math.floor(ms / 1000);
  return { ...epoch, seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 };
}

const emptyTypes = new Map<string, object>();

/** Whole, with the fields that the record leaves out. */
function typeOf({ case: name, value }: EventRecord["type"]): AdvisoryEvent["type"] {
  // A detection has one more message within it.
  if (name === "detection") return create(AdvisoryEventSchema, { type: { case: name, value } }).type;
  let empty = emptyTypes.get(name);
  if (empty === undefined) {
    empty = create(AdvisoryEventSchema, { type: { case: name, value: {} } as EventRecord["type"] }).type.value as object;
    emptyTypes.set(name, empty);
  }
  return { case: name, value: { ...empty, ...value } } as AdvisoryEvent["type"];
}

/** What a record's event is known again by. */
function keyOf({ time, isOwnTime, type }: EventRecord): string {
  return `${isOwnTime ? time : ""} ${payloadOf(typeOf(type))}`;
}

/** What a stored event may be met by: whether a source gives times of its own is not stored. */
function keysOf({ timestamp, type }: AdvisoryEvent): readonly string[] {
  const payload = payloadOf(type);
  return [` ${payload}`, `${timestamp === undefined ? "" : dateFromTimestamp(timestamp).getTime()} ${payload}`];
}

function payloadOf(type: AdvisoryEvent["type"]): string {
  return encodeEvent({ ...emptyEvent, type });
}
