/** Finds the subject of an event in its body message: the uid that the event names, and the group whose subscribers receive it. */
import type { Message } from "@bufbuild/protobuf";
import { parentOf } from "../lib/uid.ts";

export interface Subject {
  readonly subject: string;
  /** Uid of the group; `/` above an organization, the empty string for none. */
  readonly group: string;
  /** Extension attributes in addition to the group. */
  readonly extensions?: Readonly<Record<string, string>>;
}

/** Rules by full message name, for messages whose events are not about their own uid. */
export type EventSubjects = Readonly<Record<string, (message: never) => Subject>>;

/** By default an event is about the uid of its message, which version 1 calls `id`, and that uid's parent. */
export function subjectOf(body: Message, subjects: EventSubjects): Subject {
  const rule = subjects[body.$typeName];
  if (rule !== undefined) return rule(body as never);
  const { uid, id } = body as unknown as { uid?: string; id?: string };
  const subject = uid ?? id;
  if (subject === undefined) throw new Error(`${body.$typeName}: no rule gives the subject of its event`);
  return { subject, group: parentOf(subject) };
}
