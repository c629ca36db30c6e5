/**
 * Stores the outcomes of attempts for all queues together, in one transaction after the other, so that a delivery needs
 * no commit of its own.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "../../db/store.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { appendOutcomes, type Outcome } from "./outcome.ts";
import { type Batch, createWaiting, type Entry } from "./outcome-batch.ts";
import { makeDueAfterRecovery, type Release, releaseQueues } from "./release.ts";

export interface OutcomeLogOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The lease on queues. */
  readonly lease: Lease;
}

export interface OutcomeLog {
  /**
   * Resolves when the outcome is durable, to whether this server still has the queue. Never rejects: it retries until
   * the database answers.
   */
  record(outcome: Outcome): Promise<boolean>;
  /** Releases a queue, after everything that was recorded before is durable. */
  release(release: Release): Promise<void>;
  /** From now on, gives up what the database does not take at the first try. Resolves when nothing is left to write. */
  close(): Promise<void>;
}

/** Time for which a transaction waits for more outcomes if a release or a run needs it. */
const GATHER_MS = 10;
/** The same if nothing needs it. Servers that share a backlog have few outcomes at a time each. */
const MAX_GATHER_MS = 50;
const RETRY_MS = 500;

export function createOutcomeLog(options: OutcomeLogOptions): OutcomeLog {
  const waiting = createWaiting();
  let writing: Promise<void> | undefined;
  let isClosing = false;
  /** Set while a transaction waits for outcomes that nobody needs yet. */
  let endGathering: (() => void) | undefined;

  async function gather(): Promise<void> {
    if (isClosing || waiting.isFull()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    let timer = setTimeout(() => {
      if (isClosing || waiting.isNeeded()) return resolve();
      endGathering = resolve;
      timer = setTimeout(resolve, MAX_GATHER_MS - GATHER_MS);
    }, GATHER_MS);
    await promise;
    clearTimeout(timer);
    endGathering = undefined;
  }

  async function writeAll(): Promise<void> {
    while (!waiting.isEmpty()) {
      await gather();
      const batch = waiting.take();
      const held = await writeBatch(batch, options, () => isClosing);
      for (const { value, settle } of batch.outcomes) settle(held.has(value.subscription_uid));
      for (const { settle } of batch.releases) settle(false);
    }
    writing = undefined;
  }

  function add<T>(addTo: (entry: Entry<T>) => void, value: T): Promise<boolean> {
    return new Promise((settle) => {
      addTo({ value, settle });
      writing ??= writeAll();
      if (endGathering !== undefined && waiting.isNeeded()) endGathering();
    });
  }

  return {
    record: (outcome) => add(waiting.addOutcome, outcome),
    release: (release) => add(waiting.addRelease, release).then(() => {}),
    async close() {
      isClosing = true;
      endGathering?.();
      while (writing !== undefined) await writing;
    },
  };
}

/** @returns the queues of these outcomes that this server still has; none if the batch was given up */
async function writeBatch(batch: Batch, { store, clock, log, lease }: OutcomeLogOptions, isClosing: () => boolean): Promise<Set<string>> {
  const outcomes = batch.outcomes.map(({ value }) => value);
  const releases = batch.releases.map(({ value }) => value);
  const uids = [...new Set(outcomes.map(({ subscription_uid: uid }) => uid))];
  for (;;) {
    try {
      return await store.transaction(async (db) => {
        // A read that comes first leaves together with the beginning of the transaction, and the outcomes with its end.
        const held = await lease.heldAmong(db, uids);
        await appendOutcomes(db, outcomes);
        await makeDueAfterRecovery(db, releases, clock.now());
        await releaseQueues(db, releases, lease, clock.now());
        for (const { uid } of releases) held.delete(uid);
        return held;
      });
    } catch (error) {
      log.error({ err: error, waiting: outcomes.length }, "outcomes of deliveries could not be stored");
      if (isClosing()) return new Set();
      await sleep(RETRY_MS);
    }
  }
}
