/** The table of the outbox. Migrations create it; column names equal proto field names. */
import type { Generated } from "kysely";

declare module "../db/schema.ts" {
  interface Schema {
    outbox: OutboxTable;
    event_context: EventContextTable;
  }
}

/** One CloudEvent per evented write, appended in the write's own transaction. */
export interface OutboxTable {
  seq: Generated<number>;
  id: string;
  type: string;
  source: string;
  subject: string;
  /** Uid of the event's group; the empty string for none. */
  group_uid: string;
  time: string;
  /** `internal` events are not delivered; `test` events only to the subscription that is their subject. */
  audience: "customer" | "internal" | "test";
  /** Full proto name of the body message. */
  body_type: string;
  /** Extension attributes in addition to group, audience and bodytype, as a JSON object of strings. */
  extensions: string;
  /** The delivery's body: `{"actor":…,"body":…}`; with a context, the part after it. Read it with `eventData`. */
  data: string;
  /** The context that comes before `data`; null for none. */
  context_id: Generated<number | null>;
  /** Assigned after the commit, without gaps for readers; null until then. */
  position: number | null;
}

/** The beginning of the data of several events of a day. */
export interface EventContextTable {
  id: Generated<number>;
  /** The day and the hash of the content. */
  key: string;
  content: string;
}
