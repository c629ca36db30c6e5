/** What a record adds to what is stored of its advisory: events and aliases that are not known yet. Nothing stored is changed or removed. Pure. */
import { create } from "@bufbuild/protobuf";
import {
  type Advisory,
  type AdvisoryEvent,
  AdvisoryEventSchema,
  AdvisorySchema,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { dateFromTimestamp, timestampFromDate } from "../../lib/clock.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { newUid } from "../../lib/uid.ts";
import type { AdvisoryRecord, EventRecord } from "./record.ts";

export interface Authorship {
  readonly actor: string;
  readonly approves: boolean;
  readonly now: Date;
}

export interface Merged {
  /** Whole, as it shall be stored. */
  readonly advisory: Advisory;
  readonly newEvents: readonly AdvisoryEvent[];
  readonly newAliases: readonly string[];
}

const encodeEvent = compileJsonEncoder(AdvisoryEventSchema);

/** One that is not stored yet. */
export function advisoryFromRecord(uid: string, record: AdvisoryRecord, authorship: Authorship): Merged {
  const { componentName, componentType, withdrawn } = record;
  const now = timestampFromDate(authorship.now);
  const empty = create(AdvisorySchema, {
    id: uid,
    advisoryId: record.advisoryId,
    author: authorship.actor,
    artifactName: record.artifactName,
    artifactType: record.artifactType,
    artifactArchitecture: record.artifactArchitecture,
    createdAt: now,
    updatedAt: now,
    ...(componentName !== "" && { componentName, componentType }),
    ...(withdrawn !== undefined && { deletedAt: timestampFromDate(new Date(withdrawn)) }),
  });
  return added(empty, record.events, record.aliases, authorship);
}

/** Undefined where everything is known already. */
export function merge(stored: Advisory, record: AdvisoryRecord, authorship: Authorship): Merged | undefined {
  const known = new Set(stored.events.flatMap((event) => keysOf(event)));
  const events = record.events.filter((event) => !known.has(keyOf(event)));
  const aliases = record.aliases.filter((alias) => !stored.aliases.includes(alias));
  const isWithdrawn = record.withdrawn !== undefined && stored.deletedAt === undefined;
  if (events.length === 0 && aliases.length === 0 && !isWithdrawn) return undefined;
  const changed = create(AdvisorySchema, { ...stored, updatedAt: timestampFromDate(authorship.now) });
  if (isWithdrawn) changed.deletedAt = timestampFromDate(new Date(record.withdrawn));
  return added(changed, events, aliases, authorship);
}

function added(to: Advisory, records: readonly EventRecord[], newAliases: readonly string[], authorship: Authorship): Merged {
  const newEvents = eventsFrom(to.id, records, authorship);
  to.events = [...to.events, ...newEvents].sort(byTime);
  to.aliases = [...to.aliases, ...newAliases];
  return { advisory: to, newEvents, newAliases };
}

/** Each once. Those of one time stay in their order. */
function eventsFrom(advisory: string, records: readonly EventRecord[], { actor, approves }: Authorship): AdvisoryEvent[] {
  const unique = records.length < 2 ? records : [...new Map(records.map((record) => [keyOf(record), record])).values()];
  const uids = unique.map(() => newUid(advisory)).sort();
  const status = approves ? ReviewStatus.APPROVED : ReviewStatus.PENDING;
  return unique.map(({ time, type }, index) =>
    create(AdvisoryEventSchema, { id: uids[index]!, timestamp: timestampFromDate(new Date(time)), status, author: actor, type }),
  );
}

function byTime(a: AdvisoryEvent, b: AdvisoryEvent): number {
  const apart =
    Number((a.timestamp?.seconds ?? 0n) - (b.timestamp?.seconds ?? 0n)) * 1e9 + (a.timestamp?.nanos ?? 0) - (b.timestamp?.nanos ?? 0);
  return apart || (a.id < b.id ? -1 : 1);
}

/** What a record's event is known again by. */
function keyOf({ time, isOwnTime, type }: EventRecord): string {
  return `${isOwnTime ? time : ""} ${encodeEvent(create(AdvisoryEventSchema, { type }))}`;
}

/** What a stored event may be met by: whether a source gives times of its own is not stored. */
function keysOf({ timestamp, type }: AdvisoryEvent): readonly string[] {
  const payload = encodeEvent(create(AdvisoryEventSchema, { type }));
  return [` ${payload}`, `${timestamp === undefined ? "" : dateFromTimestamp(timestamp).getTime()} ${payload}`];
}
