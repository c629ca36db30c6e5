/** The work of servers whose CPU time is measured. */
import type { Fleet } from "./servers.ts";
import { measureIdle, secondsBeyondIdle, spentDuring } from "./spent.ts";

export interface Work {
  readonly kind: string;
  /** Jobs, for the CPU time per job. */
  readonly count: number;
  prepare(): Promise<void>;
  /** Begins the work and waits until it is done. */
  run(): Promise<void>;
}

/** CPU time of servers and PostgreSQL per job, in milliseconds, without that of idle servers. */
export async function costOf(fleets: readonly Fleet[], work: Work): Promise<number> {
  await work.prepare();
  const idle = await Promise.all(fleets.map(measureIdle));
  const done = Promise.withResolvers<void>();
  const spent = Promise.all(fleets.map((fleet) => spentDuring(fleet, () => done.promise)));
  await work.run();
  done.resolve();
  const seconds = (await spent).map((one, i) => secondsBeyondIdle(one, idle[i]!));
  return (seconds.reduce((sum, one) => sum + one, 0) / work.count) * 1000;
}
