/** CPU time of the servers of a fleet and of PostgreSQL: during some work, and while they are idle. */
import { setTimeout as sleep } from "node:timers/promises";
import { databaseSeconds, type Fleet, serverSeconds } from "./servers.ts";

const IDLE_MS = 3000;

/** CPU seconds that the servers and PostgreSQL use per second while nobody calls. */
export interface Idle {
  readonly server: number;
  readonly database: number;
}

export interface Spent {
  readonly seconds: number;
  /** CPU seconds of all servers. */
  readonly server: number;
  /** CPU seconds of PostgreSQL. */
  readonly database: number;
}

export async function measureIdle(fleet: Fleet): Promise<Idle> {
  const spent = await spentDuring(fleet, () => sleep(IDLE_MS));
  return { server: spent.server / spent.seconds, database: spent.database / spent.seconds };
}

export async function spentDuring(fleet: Fleet, work: () => Promise<unknown>): Promise<Spent> {
  const begun = performance.now();
  const before = { server: serverSeconds(fleet), database: await databaseSeconds(fleet) };
  await work();
  const seconds = (performance.now() - begun) / 1000;
  return { seconds, server: serverSeconds(fleet) - before.server, database: (await databaseSeconds(fleet)) - before.database };
}

/** CPU seconds of servers and PostgreSQL together, without those that they use while idle. */
export function secondsBeyondIdle({ server, database, seconds }: Spent, idle: Idle): number {
  return server + database - (idle.server + idle.database) * seconds;
}
