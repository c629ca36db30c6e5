/** Writes what became of attempts, for all queues together: one transaction after the other, so that a delivery costs no commit of its own. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { type Release, recover, release } from "./release.ts";
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
}

export interface LedgerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Of this server's leases. */
  readonly holder: string;
}

export interface Ledger {
  /** Resolves when it is durable, to whether the queue is still ours. Never rejects: it is tried until the database takes it. */
  record(outcome: Outcome): Promise<boolean>;
  /** Gives a queue back, after all that was recorded before is durable. */
  release(release: Release): Promise<void>;
  /** Gives up from now on what the database does not take at once. Resolves when nothing is left to write. */
  close(): Promise<void>;
}

interface Entry<T> {
  readonly value: T;
  settle(isHeld: boolean): void;
}

interface Page {
  readonly outcomes: Entry<Outcome>[];
  readonly releases: Entry<Release>[];
}

/** How long a transaction waits for company. As long as this, what was sent may be sent again if the server is killed. */
const GATHER_MS = 10;
/** Outcomes of one transaction. */
const MAX_OUTCOMES = 200;
const RETRY_MS = 500;

export function createLedger(options: LedgerOptions): Ledger {
  let page: Page = { outcomes: [], releases: [] };
  let writing: Promise<void> | undefined;
  let isClosing = false;

  async function writeAll(): Promise<void> {
    while (page.outcomes.length + page.releases.length > 0) {
      if (!isClosing && page.outcomes.length < MAX_OUTCOMES) await sleep(GATHER_MS);
      const full = firstPart(page);
      page = rest(page, full);
      const held = await writePage(full, options, () => isClosing);
      for (const { value, settle } of full.outcomes) settle(held.has(value.subscription_uid));
      for (const { settle } of full.releases) settle(false);
    }
    writing = undefined;
  }

  function add<T>(list: (page: Page) => Entry<T>[], value: T): Promise<boolean> {
    return new Promise((settle) => {
      list(page).push({ value, settle });
      writing ??= writeAll();
    });
  }

  return {
    record: (outcome) => add(({ outcomes }) => outcomes, outcome),
    release: (release) => add(({ releases }) => releases, release).then(() => {}),
    async close() {
      isClosing = true;
      while (writing !== undefined) await writing;
    },
  };
}

/** No queue is released before its outcomes are written. */
function firstPart({ outcomes, releases }: Page): Page {
  const later = new Set(outcomes.slice(MAX_OUTCOMES).map(({ value }) => value.subscription_uid));
  return { outcomes: outcomes.slice(0, MAX_OUTCOMES), releases: releases.filter(({ value }) => !later.has(value.uid)) };
}

function rest({ outcomes, releases }: Page, part: Page): Page {
  const taken = new Set(part.releases);
  return { outcomes: outcomes.slice(part.outcomes.length), releases: releases.filter((entry) => !taken.has(entry)) };
}

/** @returns the queues of these outcomes that are still held; none where it was given up */
async function writePage(page: Page, { store, clock, log, holder }: LedgerOptions, isClosing: () => boolean): Promise<Set<string>> {
  const outcomes = page.outcomes.map(({ value }) => value);
  const releases = page.releases.map(({ value }) => value);
  for (;;) {
    try {
      return await store.transaction(async (db) => {
        await writeOutcomes(db, outcomes);
        await recover(db, releases, clock.now());
        await release(db, releases, holder, clock.now());
        return await heldAmong(db, [...new Set(outcomes.map((outcome) => outcome.subscription_uid))], holder);
      });
    } catch (error) {
      log.error({ err: error, waiting: outcomes.length }, "what became of deliveries could not be stored");
      if (isClosing()) return new Set();
      await sleep(RETRY_MS);
    }
  }
}

/** Also where the lease is lost: what was delivered was delivered. Only what is pending still: another server may have been quicker. */
async function writeOutcomes(db: WriteDb, outcomes: readonly Outcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  const rows = db.dialect.rowsOf(outcomes, {
    ...({ subscription_uid: "text", position: "bigint", state: "text", next_attempt_time: "text", attempts: "bigint" } as const),
    ...({ first_attempt_time: "text", last_attempt_time: "text", status_code: "bigint", error: "text", latency_ms: "bigint" } as const),
  });
  await db
    .updateTable("delivery")
    .from(rows.as("r"))
    .set(({ ref }) => ({
      ...{ state: ref("r.state"), next_attempt_time: ref("r.next_attempt_time"), attempts: ref("r.attempts") },
      ...{ first_attempt_time: ref("r.first_attempt_time"), last_attempt_time: ref("r.last_attempt_time") },
      ...{ status_code: ref("r.status_code"), error: ref("r.error"), latency_ms: ref("r.latency_ms") },
    }))
    .whereRef("delivery.subscription_uid", "=", "r.subscription_uid")
    .whereRef("delivery.position", "=", "r.position")
    .where("delivery.state", "=", "pending")
    .execute();
}

async function heldAmong(db: WriteDb, uids: readonly string[], holder: string): Promise<Set<string>> {
  if (uids.length === 0) return new Set();
  const rows = await db
    .selectFrom("subscription_queue")
    .select("subscription_uid")
    .where("lease_holder", "=", holder)
    .where("subscription_uid", "in", db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value"))
    .execute();
  return new Set(rows.map((row) => row.subscription_uid));
}
