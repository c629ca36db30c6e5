/**
 * Stores the beginning that the data of many events share once a day, and puts it in front again when they are read.
 * Events of traffic repeat who made a request, from where and to which repository.
 */
import { createHash } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { WriteDb } from "../db/store.ts";
import { Lru } from "../lib/lru.ts";

/** The data of an event, whole. @param outbox the name of the table `outbox` in the query */
export function eventData(outbox = "outbox"): RawBuilder<string> {
  const data = sql.ref<string>(`${outbox}.data`);
  const context = sql.ref<number | null>(`${outbox}.context_id`);
  return sql<string>`case when ${context} is null then ${data}
    else (select c.content from event_context as c where c.id = ${context}) || ${data} end`;
}

const MAX_CACHED = 10_000;
const ROWS_PER_STATEMENT = 200;

export interface NewContext {
  /** The time of the event. A context is never shared between days, so that it can be deleted with the events of its day. */
  readonly now: Date;
  readonly content: string;
}

/** Finds and stores contexts. It remembers those that it has stored. */
export class EventContexts {
  readonly #ids = new Lru<string, number>(MAX_CACHED);

  /** The ids of the contexts, in the same order. */
  async idsOf(db: WriteDb, contexts: readonly NewContext[]): Promise<number[]> {
    const keys = contexts.map(keyOf);
    const found = new Map<string, number>();
    const missing = new Map<string, NewContext>();
    for (const [at, key] of keys.entries()) {
      const id = this.#ids.get(key);
      if (id === undefined) missing.set(key, contexts[at]!);
      else found.set(key, id);
    }
    // In the order of the keys, so that servers that store the same contexts do not deadlock.
    for (const [key, id] of await store(
      db,
      [...missing].sort(([a], [b]) => (a < b ? -1 : 1)),
    )) {
      found.set(key, id);
      db.afterCommit(() => this.#ids.set(key, id));
    }
    return keys.map((key) => found.get(key)!);
  }
}

async function store(db: WriteDb, contexts: readonly (readonly [key: string, NewContext])[]): Promise<[string, number][]> {
  const stored: [string, number][] = [];
  for (let start = 0; start < contexts.length; start += ROWS_PER_STATEMENT) {
    const chunk = contexts.slice(start, start + ROWS_PER_STATEMENT);
    const rows = await db
      .insertInto("event_context")
      .values(chunk.map(([key, { content }]) => ({ key, content })))
      .onConflict((conflict) => conflict.column("key").doUpdateSet((eb) => ({ key: eb.ref("excluded.key") })))
      .returning(["id", "key"])
      .execute();
    stored.push(...rows.map(({ key, id }): [string, number] => [key, Number(id)]));
  }
  return stored;
}

/** Begins with the day, so that contexts are deleted by a range of keys. */
function keyOf({ now, content }: NewContext): string {
  return `${dayOf(now)} ${createHash("sha256").update(content).digest("base64url")}`;
}

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
