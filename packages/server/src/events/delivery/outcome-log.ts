/**
 * Stores the outcomes of attempts for all queues together, in one transaction after the other, so that a delivery needs
 * no commit of its own.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { makeDueAfterRecovery, type Release, releaseQueues } from "./release.ts";
import type { Verdict } from "./retry.ts";

/** What one attempt changes in its delivery. */
export interface Outcome extends Pick<Verdict, "state" | "next_attempt_time"> {
  readonly subscription_uid: string;
  readonly position: number;
  readonly attempts: number;
  readonly first_attempt_time: string;
  readonly last_attempt_time: string;
  readonly status_code: number;
  readonly error: string;
  readonly latency_ms: number;
  readonly exchange: string;
}

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

interface Entry<T> {
  readonly value: T;
  settle(isHeld: boolean): void;
}

interface Batch {
  readonly outcomes: Entry<Outcome>[];
  readonly releases: Entry<Release>[];
}

/** Outcomes of one run that are not durable yet, at the most: if the server is killed, these events are sent again. */
export const MAX_UNRECORDED = 16;
/** Waiting outcomes of one run from which on a transaction begins soon: the run goes on with the other half meanwhile. */
const MANY_OF_RUN = MAX_UNRECORDED / 2;
/** Time for which a transaction waits for more outcomes if a release or a run needs it. */
const GATHER_MS = 10;
/** The same if nothing needs it. Servers that share a backlog have few outcomes at a time each. */
const MAX_GATHER_MS = 50;
/** Outcomes per transaction. */
const MAX_OUTCOMES = 200;
const RETRY_MS = 500;

export function createOutcomeLog(options: OutcomeLogOptions): OutcomeLog {
  let waiting: Batch = { outcomes: [], releases: [] };
  let writing: Promise<void> | undefined;
  let isClosing = false;
  /** Set while a transaction waits for outcomes that nobody needs yet. */
  let endGathering: (() => void) | undefined;

  async function gather(): Promise<void> {
    if (isClosing || waiting.outcomes.length >= MAX_OUTCOMES) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    let timer = setTimeout(() => {
      if (isClosing || isNeeded(waiting)) return resolve();
      endGathering = resolve;
      timer = setTimeout(resolve, MAX_GATHER_MS - GATHER_MS);
    }, GATHER_MS);
    await promise;
    clearTimeout(timer);
    endGathering = undefined;
  }

  async function writeAll(): Promise<void> {
    while (waiting.outcomes.length + waiting.releases.length > 0) {
      await gather();
      const batch = firstBatch(waiting);
      waiting = without(waiting, batch);
      const held = await writeBatch(batch, options, () => isClosing);
      for (const { value, settle } of batch.outcomes) settle(held.has(value.subscription_uid));
      for (const { settle } of batch.releases) settle(false);
    }
    writing = undefined;
  }

  function add<T>(listOf: (batch: Batch) => Entry<T>[], value: T): Promise<boolean> {
    return new Promise((settle) => {
      listOf(waiting).push({ value, settle });
      writing ??= writeAll();
      if (endGathering !== undefined && isNeeded(waiting)) endGathering();
    });
  }

  return {
    record: (outcome) => add(({ outcomes }) => outcomes, outcome),
    release: (release) => add(({ releases }) => releases, release).then(() => {}),
    async close() {
      isClosing = true;
      endGathering?.();
      while (writing !== undefined) await writing;
    },
  };
}

/** Whether a release waits, a run will soon wait, or the transaction is full. */
function isNeeded({ outcomes, releases }: Batch): boolean {
  if (releases.length > 0 || outcomes.length >= MAX_OUTCOMES) return true;
  const counts = new Map<string, number>();
  for (const { value } of outcomes) counts.set(value.subscription_uid, (counts.get(value.subscription_uid) ?? 0) + 1);
  return Math.max(0, ...counts.values()) >= MANY_OF_RUN;
}

/** No queue is released before its outcomes are written. */
function firstBatch({ outcomes, releases }: Batch): Batch {
  const later = new Set(outcomes.slice(MAX_OUTCOMES).map(({ value }) => value.subscription_uid));
  return { outcomes: outcomes.slice(0, MAX_OUTCOMES), releases: releases.filter(({ value }) => !later.has(value.uid)) };
}

function without({ outcomes, releases }: Batch, batch: Batch): Batch {
  const taken = new Set(batch.releases);
  return { outcomes: outcomes.slice(batch.outcomes.length), releases: releases.filter((entry) => !taken.has(entry)) };
}

/** @returns the queues of these outcomes that this server still has; none if the batch was given up */
async function writeBatch(batch: Batch, { store, clock, log, lease }: OutcomeLogOptions, isClosing: () => boolean): Promise<Set<string>> {
  const outcomes = batch.outcomes.map(({ value }) => value);
  const releases = batch.releases.map(({ value }) => value);
  for (;;) {
    try {
      return await store.transaction(async (db) => {
        await writeOutcomes(db, outcomes);
        await makeDueAfterRecovery(db, releases, clock.now());
        await releaseQueues(db, releases, lease, clock.now());
        return await lease.heldAmong(db, [...new Set(outcomes.map((outcome) => outcome.subscription_uid))]);
      });
    } catch (error) {
      log.error({ err: error, waiting: outcomes.length }, "outcomes of deliveries could not be stored");
      if (isClosing()) return new Set();
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Also where the lease is lost: an event that was delivered stays delivered. Changes pending deliveries only, as
 * another server may have been quicker.
 */
async function writeOutcomes(db: WriteDb, outcomes: readonly Outcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  const rows = db.dialect.rowsOf(outcomes, {
    subscription_uid: "text",
    position: "bigint",
    state: "text",
    next_attempt_time: "text",
    attempts: "bigint",
    first_attempt_time: "text",
    last_attempt_time: "text",
    status_code: "bigint",
    error: "text",
    latency_ms: "bigint",
    exchange: "text",
  });
  await db
    .updateTable("delivery")
    .from(rows.as("r"))
    .set(({ ref }) => ({
      state: ref("r.state"),
      next_attempt_time: ref("r.next_attempt_time"),
      attempts: ref("r.attempts"),
      first_attempt_time: ref("r.first_attempt_time"),
      last_attempt_time: ref("r.last_attempt_time"),
      status_code: ref("r.status_code"),
      error: ref("r.error"),
      latency_ms: ref("r.latency_ms"),
      exchange: ref("r.exchange"),
    }))
    .whereRef("delivery.subscription_uid", "=", "r.subscription_uid")
    .whereRef("delivery.position", "=", "r.position")
    // By the primary key: to PostgreSQL few deliveries seem to be pending, and it would read all of a backlog.
    .where(sql<boolean>`${db.dialect.frequent("delivery.state")} = 'pending'`)
    .execute();
}
