/** Appends the CloudEvent of a write to the outbox, in the write's own transaction. Delivers nothing. */
import { randomUUID } from "node:crypto";
import { type DescMessage, type DescMethodUnary, isMessage, type Message, toJsonString } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { Insertable } from "kysely";
import type { Actor } from "../access/principal.ts";
import { appendWithWaiting } from "../audit/append.ts";
import { preparedInsert } from "../db/prepared-insert.ts";
import type { WriteDb } from "../db/store.ts";
import { redacted } from "../lib/redact.ts";
import { type VendorProfile, wireName } from "../lib/vendor-profile.ts";
import { type AuditedEvent, auditEvents } from "./audit-events.ts";
import type { EventContexts } from "./event-context.ts";
import { type EventSubjects, subjectOf } from "./subject.ts";
import type { OutboxTable } from "./tables.ts";

/** The facts of a call that has an event. */
export interface EventedCall {
  readonly method: DescMethodUnary;
  /** Event type without the vendor's prefix. */
  readonly type: string;
  readonly audience: "customer" | "internal";
  /** Path of the method's first HTTP binding. */
  readonly path: string;
  /** The version that the client called, if it is an alias. */
  readonly alias: string | undefined;
  readonly request: Message;
  readonly response: Message;
  /** Undefined for anonymous callers. */
  readonly actor: Actor | undefined;
  readonly now: Date;
}

export interface EventNames {
  readonly profile: VendorProfile;
  /** Public URL of this server; events name it as their source. */
  readonly baseUrl: string;
  readonly subjects: EventSubjects;
  /** Called when an event is durable, so that its delivery starts at once. Must not throw. */
  onAppend(): void;
}

export async function appendEvent(db: WriteDb, call: EventedCall, names: EventNames): Promise<void> {
  const { profile, baseUrl, subjects, onAppend } = names;
  // The event of a call without a response message, such as a Delete, has the request as its body.
  const isEmpty = isMessage(call.response, EmptySchema);
  const body = isEmpty ? call.request : call.response;
  const schema = isEmpty ? call.method.input : call.method.output;
  const { subject, group, extensions = {} } = subjectOf(body, subjects);
  const insert = preparedInsert(db, "outbox", {
    id: randomUUID(),
    type: `${profile.eventPrefix}.${call.type}`,
    source: baseUrl + sourcePath(call.path, call.alias),
    subject,
    group_uid: group,
    time: call.now.toISOString(),
    audience: call.audience,
    body_type: wireName(profile, schema.typeName, call.alias),
    extensions: JSON.stringify(extensions),
    data: `{${actorOf(call, group)}"body":${bodyText(schema, body)}}`,
  });
  await appendWithWaiting(db, insert);
  db.afterCommit(onAppend);
  await auditEvents(db, [{ type: call.type, subject, group, actor: call.actor, now: call.now, body: () => bodyText(schema, body) }]);
}

function bodyText(schema: DescMessage, body: Message): string {
  return toJsonString(schema, redacted(schema, body), { useProtoFieldName: true });
}

/** An event without a method in the contract; its body is plain JSON. */
export interface PlainEvent {
  /** Event type without the vendor's prefix. */
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly group: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly actor: EventedCall["actor"];
  readonly body: unknown;
  readonly now: Date;
}

/** Appends at most a thousand events, the limit of one statement's parameters, in the order given. */
export async function appendPlainEvents(db: WriteDb, events: readonly PlainEvent[], names: PlainNames): Promise<void> {
  const rows = events.map((event) => ({ ...rowOf(event, names), data: plainData(event) }));
  await insertRows(db, rows, names);
  await auditEvents(db, events.map(auditedEvent));
}

function auditedEvent({ type, subject, group, actor, now, body }: PlainEvent): AuditedEvent {
  return { type, subject, group, actor, now, body: () => JSON.stringify(body) };
}

/** The data of an event whose body is plain JSON. */
export function plainData(event: Pick<PlainEvent, "actor" | "group" | "body">): string {
  return `{${actorOf(event, event.group)}"body":${JSON.stringify(event.body)}}`;
}

type PlainNames = Pick<EventNames, "profile" | "onAppend">;

function rowOf({ type, source, subject, group, now, extensions }: PlainEvent, { profile }: PlainNames) {
  return {
    id: randomUUID(),
    type: `${profile.eventPrefix}.${type}`,
    source,
    subject,
    group_uid: group,
    time: now.toISOString(),
    audience: "customer" as const,
    body_type: "",
    extensions: JSON.stringify(extensions),
  };
}

async function insertRows(db: WriteDb, rows: readonly Insertable<OutboxTable>[], { onAppend }: PlainNames): Promise<void> {
  if (rows.length === 0) return;
  await db.insertInto("outbox").values(rows).execute();
  db.afterCommit(onAppend);
}

/** An event whose body begins with fields that many events of a day have in common. */
export interface SharedEvent extends PlainEvent {
  readonly sharedBody: Readonly<Record<string, unknown>>;
  /** At least one field. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Like appendPlainEvents. Stores what the events share once. */
export async function appendSharedEvents(
  db: WriteDb,
  events: readonly SharedEvent[],
  { contexts, ...names }: PlainNames & { readonly contexts: EventContexts },
): Promise<void> {
  const beginnings = events.map((event) => ({
    now: event.now,
    content: `{${actorOf(event, event.group)}"body":${JSON.stringify(event.sharedBody).slice(0, -1)},`,
  }));
  const ids = await contexts.idsOf(db, beginnings);
  const rows = events.map((event, at) => ({
    ...rowOf(event, names),
    context_id: ids[at] ?? null,
    data: `${JSON.stringify(event.body).slice(1)}}`,
  }));
  await insertRows(db, rows, names);
  await auditEvents(db, events.map(auditedEvent));
}

/**
 * The method's path up to its first variable, under the version that the client used: `/iam/v2/groups`,
 * `/iam/v2/roleBindings:batchCreate`.
 */
function sourcePath(path: string, alias: string | undefined): string {
  const fixed = path.split("/{", 1)[0] ?? path;
  return alias === undefined ? fixed : fixed.replace(/^(\/[a-z]+)\/v2(?=[/:]|$)/, `$1/${alias}`);
}

function actorOf({ actor }: Pick<EventedCall, "actor">, group: string): string {
  return actor === undefined ? "" : `"actor":${JSON.stringify({ subject: actor.subject, act: actor.claimsAt(group) })},`;
}
