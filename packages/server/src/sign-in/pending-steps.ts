/** Stores and takes pending steps, each in a transaction of its own. */
import type { Store } from "../db/store.ts";
import type { Secrets } from "../iam/secrets/secrets.ts";
import type { Clock } from "../lib/clock.ts";
import { insertPending, type PendingStep, randomSecret, takePending } from "./pending.ts";

export interface PendingSteps {
  /** Without a handle, the step gets a random one. @returns the one-time handle of the step */
  store(step: Pick<PendingStep, "stage" | "browser" | "content"> & { readonly handle?: string }): Promise<string>;
  /** @returns undefined unless this browser has such a step */
  take<T>(stage: PendingStep["stage"], handle: string, browser: string | undefined): Promise<T | undefined>;
}

export interface PendingStepsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

export function createPendingSteps({ store, clock, secrets }: PendingStepsOptions): PendingSteps {
  return {
    async store({ handle = randomSecret(), ...step }) {
      await store.transaction((db) => insertPending(db, { ...step, handle }, clock.now(), secrets));
      return handle;
    },
    async take<T>(stage: PendingStep["stage"], handle: string, browser: string | undefined) {
      if (handle === "" || browser === undefined) return undefined;
      return store.transaction((db) => takePending<T>(db, { handle, browser, stage }, clock.now(), secrets));
    },
  };
}
