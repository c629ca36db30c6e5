/** The table of the outbox. The migrations make them; column names equal proto field names. */
import type { Generated } from "kysely";

declare module "../db/schema.ts" {
  interface Schema {
    outbox: OutboxTable;
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
  /** `internal` reaches nobody; `test` only the subscription that is its subject. */
  audience: "customer" | "internal" | "test";
  /** Full proto name of the body message. */
  body_type: string;
  /** Extension attributes beside group, audience and bodytype, as a JSON object of strings. */
  extensions: string;
  /** The delivery's body: `{"actor":…,"body":…}`. */
  data: string;
  /** Given out after the commit, without gaps in what a reader sees; null until then. */
  position: number | null;
}
