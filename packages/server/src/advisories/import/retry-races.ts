/** Retries a transaction that lost a race: another writer inserted the same rows first, and the next attempt finds them. */
import { setTimeout as sleep } from "node:timers/promises";
import { ConstraintError } from "../../db/transaction.ts";
import { notFound } from "../../lib/errors.ts";

const ATTEMPTS = 10;

/** @throws NOT_FOUND if the group does not exist */
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
