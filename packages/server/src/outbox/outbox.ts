/** Appends the one CloudEvent of a write to the outbox, in the write's own transaction. Delivers nothing. */
import { randomUUID } from "node:crypto";
import { type DescMethodUnary, isMessage, type Message, toJsonString } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { WriteDb } from "../db/store.ts";
import { type VendorProfile, wireName } from "../lib/vendor-profile.ts";
import { redacted } from "./redact.ts";
import { type EventSubjects, subjectOf } from "./subject.ts";

/** What there is to say of one evented call. */
export interface Happening {
  readonly method: DescMethodUnary;
  /** Event type without the vendor's prefix. */
  readonly type: string;
  readonly audience: "customer" | "internal";
  /** Path of the method's first HTTP binding. */
  readonly path: string;
  /** The version the client used where it is an alias. */
  readonly alias: string | undefined;
  readonly request: Message;
  readonly response: Message;
  /** Uid of the acting identity and the upstream claims it signed in with; undefined where nobody is known. */
  readonly actor: { readonly subject: string; readonly act: Readonly<Record<string, string>> } | undefined;
  readonly now: Date;
}

export interface EventNames {
  readonly profile: VendorProfile;
  /** Public URL of this server; events name it as their source. */
  readonly baseUrl: string;
  readonly subjects: EventSubjects;
  /** Called when an event is durable, so that it is sent at once. Must not throw. */
  onAppend(): void;
}

export async function appendEvent(db: WriteDb, happening: Happening, names: EventNames): Promise<void> {
  const { profile, baseUrl, subjects, onAppend } = names;
  // A call without a response of its own (a delete) is told by its request.
  const isEmpty = isMessage(happening.response, EmptySchema);
  const body = isEmpty ? happening.request : happening.response;
  const schema = isEmpty ? happening.method.input : happening.method.output;
  const { subject, group, extensions = {} } = subjectOf(body, subjects);
  await db
    .insertInto("outbox")
    .values({
      id: randomUUID(),
      type: `${profile.eventPrefix}.${happening.type}`,
      source: baseUrl + sourcePath(happening.path, happening.alias),
      subject,
      group_uid: group,
      time: happening.now.toISOString(),
      audience: happening.audience,
      body_type: wireName(profile, schema.typeName, happening.alias),
      extensions: JSON.stringify(extensions),
      data: `{${actorOf(happening)}"body":${toJsonString(schema, redacted(schema, body), { useProtoFieldName: true })}}`,
    })
    .execute();
  db.afterCommit(onAppend);
}

/** An event that no method of the contract describes: its body is plain JSON. */
export interface PlainEvent {
  /** Event type without the vendor's prefix. */
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly group: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly actor: Happening["actor"];
  readonly body: unknown;
  readonly now: Date;
}

/** In the order given; no more than a statement's parameters allow, which is a thousand. */
export async function appendPlainEvents(
  db: WriteDb,
  events: readonly PlainEvent[],
  { profile, onAppend }: Pick<EventNames, "profile" | "onAppend">,
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event) => ({
    id: randomUUID(),
    type: `${profile.eventPrefix}.${event.type}`,
    source: event.source,
    subject: event.subject,
    group_uid: event.group,
    time: event.now.toISOString(),
    audience: "customer" as const,
    body_type: "",
    extensions: JSON.stringify(event.extensions),
    data: `{${actorOf(event)}"body":${JSON.stringify(event.body)}}`,
  }));
  await db.insertInto("outbox").values(rows).execute();
  db.afterCommit(onAppend);
}

/** The method's path up to its first variable, under the version that the client used: `/iam/v2/groups`, `/iam/v2/roleBindings:batchCreate`. */
export function sourcePath(path: string, alias: string | undefined): string {
  const fixed = path.split("/{", 1)[0] ?? path;
  return alias === undefined ? fixed : fixed.replace(/^(\/[a-z]+)\/v2(?=[/:]|$)/, `$1/${alias}`);
}

function actorOf({ actor }: Pick<Happening, "actor">): string {
  return actor === undefined ? "" : `"actor":${JSON.stringify(actor)},`;
}
