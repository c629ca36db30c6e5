/** Samples what busy sessions of PostgreSQL wait for. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

const SAMPLE_MS = 20;
const WAITS = `select coalesce(wait_event_type || ' ' || wait_event, 'CPU') as wait,
    regexp_replace(left(query, 60), '\\s+', ' ', 'g') as query
  from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and application_name = 'holt'`;

/** @returns the most frequent waits when it is ended, each with its share of all samples of busy sessions */
export function sampleWaits(client: pg.Client): { end(): Promise<string[]> } {
  const counts = new Map<string, number>();
  let total = 0;
  let isOver = false;
  async function sample(): Promise<void> {
    while (!isOver) {
      for (const { wait, query } of (await client.query<{ wait: string; query: string }>(WAITS)).rows) {
        const key = wait === "CPU" ? wait : `${wait} (${query})`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
        total++;
      }
      await sleep(SAMPLE_MS);
    }
  }
  const running = sample();
  return {
    async end() {
      isOver = true;
      await running;
      const sorted = [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
      return sorted.map(([key, count]) => `${Math.round((100 * count) / total)} % ${key}`);
    },
  };
}
