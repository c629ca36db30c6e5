/** What two writers of the same new rows do: one of them comes too late, and finds them when it tries again. */
import { setTimeout as sleep } from "node:timers/promises";
import { ConstraintError } from "../../db/transaction.ts";
import { notFound } from "../../lib/errors.ts";

const ATTEMPTS = 10;

/** @throws NOT_FOUND where the group is not there, or not any more */
export async function retryRaces<T>(group: string, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      if (error.kind === "foreign-key") throw notFound("Group", group);
      if (tries === ATTEMPTS) throw error;
      await sleep(Math.random() * 20 * tries);
    }
  }
}
