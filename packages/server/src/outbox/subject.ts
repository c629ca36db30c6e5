/** What an event is about: the uid it names and the group whose subscribers hear of it, read off the event's body message. */
import type { Message } from "@bufbuild/protobuf";
import { parentOf } from "../lib/uid.ts";

export interface Subject {
  readonly subject: string;
  /** Uid of the group; `/` above an organization, the empty string for none. */
  readonly group: string;
  /** Extension attributes beside the group. */
  readonly extensions?: Readonly<Record<string, string>>;
}

/** What the events of a message are about, by the full name of the message: for messages that do not simply name their own uid. */
export type EventSubjects = Readonly<Record<string, (message: never) => Subject>>;

/** By default an event is about the uid of its message and that uid's parent. */
export function subjectOf(body: Message, subjects: EventSubjects): Subject {
  const rule = subjects[body.$typeName];
  if (rule !== undefined) return rule(body as never);
  const { uid } = body as unknown as { uid?: string };
  if (uid === undefined) throw new Error(`${body.$typeName}: no rule says what its event is about`);
  return { subject: uid, group: parentOf(uid) };
}
