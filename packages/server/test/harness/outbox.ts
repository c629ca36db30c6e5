/** Reads the events that a server has recorded, straight from the outbox table. */
import { eventData } from "../../src/outbox/event-context.ts";
import type { World } from "./world.ts";

export interface RecordedEvent {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly group_uid: string;
  readonly time: string;
  readonly audience: string;
  readonly body_type: string;
  readonly extensions: string;
  readonly data: string;
}

/** The sequence number of the newest event; 0 without any. */
export async function lastSeq({ store }: Pick<World, "store">): Promise<number> {
  const row = await store.reader.selectFrom("outbox").select("seq").orderBy("seq", "desc").limit(1).executeTakeFirst();
  return Number(row?.seq ?? 0);
}

export function eventsAfter({ store }: Pick<World, "store">, seq: number): Promise<RecordedEvent[]> {
  return store.reader.selectFrom("outbox").selectAll().select(eventData().as("data")).where("seq", ">", seq).orderBy("seq").execute();
}
