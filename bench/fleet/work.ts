/** The work of servers whose CPU time is measured. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Fleet } from "./servers.ts";
import { type Idle, secondsBeyondIdle, spentDuring } from "./spent.ts";

/** Times that work is prepared and done where single rounds differ much. */
export const ROUNDS = Number(process.env.BENCH_FLEET_ROUNDS ?? 5);

export interface Work {
  readonly kind: string;
  /** Jobs, for the CPU time per job. */
  readonly count: number;
  prepare(): Promise<void>;
  /** Begins the work and waits until it is done. */
  run(): Promise<void>;
}

/**
 * Runs prepared work. @param idle of each fleet
 * @returns CPU time of servers and PostgreSQL per job, in milliseconds, without that of idle servers
 */
export async function costOf(fleets: readonly Fleet[], work: Work, idle: readonly Idle[]): Promise<number> {
  const done = Promise.withResolvers<void>();
  const spent = Promise.all(fleets.map((fleet) => spentDuring(fleet, () => done.promise)));
  await work.run();
  done.resolve();
  const seconds = (await spent).map((one, i) => secondsBeyondIdle(one, idle[i]!));
  return (seconds.reduce((sum, one) => sum + one, 0) / work.count) * 1000;
}

/** Waits until the query counts nothing, as `n`. */
export async function untilNone(client: pg.Client, query: string): Promise<void> {
  while (Number((await client.query<{ n: string }>(query)).rows[0]?.n) > 0) await sleep(50);
}
