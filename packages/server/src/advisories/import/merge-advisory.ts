/** Merges a record into its stored advisory: adds new events and aliases, and never changes or removes stored ones. Pure. */
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
import { newEventUids } from "./neighboring-uids.ts";
import type { AdvisoryRecord, EventRecord } from "./record.ts";

export interface Authorship {
  readonly actor: string;
  readonly approves: boolean;
  readonly mayDelete: boolean;
  readonly now: Date;
}

const encodeEvent = compileJsonEncoder(AdvisoryEventSchema);
/** Spread instead of calling `create`, which visits every field. That would be most of the work of an import. */
const emptyEvent = create(AdvisoryEventSchema);
const emptyAdvisory = create(AdvisorySchema);
const epoch = create(TimestampSchema);

/** Makes a new advisory of a record. */
export function advisoryFromRecord(uid: string, record: AdvisoryRecord, authorship: Authorship): Advisory {
  const { advisoryId, artifactName, artifactType, artifactArchitecture, componentName, componentType, withdrawn } = record;
  const now = timestampFromDate(authorship.now);
  const advisory: Advisory = {
    ...emptyAdvisory,
    id: uid,
    advisoryId,
    artifactName,
    artifactType,
    artifactArchitecture,
    author: authorship.actor,
    createdAt: now,
    updatedAt: now,
    ...(componentName !== "" && { componentName, componentType }),
    ...(withdrawn !== undefined && { deletedAt: timestampFromDate(new Date(withdrawn)) }),
  };
  return withAdditions(advisory, record, authorship);
}

/** Whether the record is withdrawn and would delete an advisory, but the import may not delete. */
export function isForbiddenWithdrawal(stored: Advisory | undefined, { withdrawn }: AdvisoryRecord, { mayDelete }: Authorship): boolean {
  return withdrawn !== undefined && !mayDelete && stored?.deletedAt === undefined;
}

/** Undefined if the record adds nothing. */
export function merge(stored: Advisory, record: AdvisoryRecord, authorship: Authorship): Advisory | undefined {
  const known = new Set(stored.events.flatMap((event) => possibleKeysOf(event)));
  const events = record.events.filter((event) => !known.has(keyOf(event)));
  // Aliases join an advisory with others. A new alias would extend an approval without review.
  const mayAddAliases = authorship.approves || !stored.events.some(({ status }) => status === ReviewStatus.APPROVED);
  const aliases = mayAddAliases ? record.aliases.filter((alias) => !stored.aliases.includes(alias)) : [];
  const isWithdrawn = record.withdrawn !== undefined && stored.deletedAt === undefined;
  if (events.length === 0 && aliases.length === 0 && !isWithdrawn) return undefined;
  const changed: Advisory = { ...stored, updatedAt: timestampFromDate(authorship.now) };
  if (isWithdrawn) changed.deletedAt = timestampFromDate(new Date(record.withdrawn));
  return withAdditions(changed, { events, aliases }, authorship);
}

function withAdditions(advisory: Advisory, additions: Pick<AdvisoryRecord, "events" | "aliases">, authorship: Authorship): Advisory {
  const isNew = advisory.events.length === 0;
  const events = [...advisory.events];
  for (const event of eventsFromRecords(advisory.id, additions.events, authorship)) {
    // Stored events sort before new ones with the same time.
    const id = isNew ? event.id : newEventUid(advisory.id, event, events);
    events.push({ ...event, id });
  }
  return { ...advisory, events: events.sort(byTime), aliases: [...advisory.aliases, ...additions.aliases] };
}

/** Without duplicates. Events with the same time keep their order. */
function eventsFromRecords(advisory: string, records: readonly EventRecord[], { actor, approves }: Authorship): AdvisoryEvent[] {
  const unique = records.length < 2 ? records : [...new Map(records.map((record) => [JSON.stringify(record), record])).values()];
  const uids = newEventUids(advisory, unique.length);
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

/** The complete payload, with the fields that the record leaves out. */
function typeOf({ case: name, value }: EventRecord["type"]): AdvisoryEvent["type"] {
  // A detection contains another message.
  if (name === "detection") return create(AdvisoryEventSchema, { type: { case: name, value } }).type;
  let empty = emptyTypes.get(name);
  if (empty === undefined) {
    empty = create(AdvisoryEventSchema, { type: { case: name, value: {} } as EventRecord["type"] }).type.value as object;
    emptyTypes.set(name, empty);
  }
  return { case: name, value: { ...empty, ...value } } as AdvisoryEvent["type"];
}

/** Identifies the event of a record. */
function keyOf({ time, isOwnTime, type }: EventRecord): string {
  return `${isOwnTime ? time : ""} ${payloadOf(typeOf(type))}`;
}

/** The keys that match a stored event, with its time and without: the database does not store whether the time is the event's own. */
function possibleKeysOf({ timestamp, type }: AdvisoryEvent): readonly string[] {
  const payload = payloadOf(type);
  return [` ${payload}`, `${timestamp === undefined ? "" : dateFromTimestamp(timestamp).getTime()} ${payload}`];
}

function payloadOf(type: AdvisoryEvent["type"]): string {
  return encodeEvent({ ...emptyEvent, type });
}
