/**
 * Compares the packages of images with advisories in the background: claims one organization with requests at a time,
 * and works on its requests for a while.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import { recordTurn } from "../../jobs/fair-share.ts";
import { createLease, type Lease, RELEASED } from "../../jobs/lease.ts";
import { createPace } from "../../jobs/pace.ts";
import { LostLease, Worker } from "../../jobs/worker.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { EventNames } from "../../outbox/outbox.ts";
import type { Publication } from "../documents/publication.ts";
import { MATCHING_LEASE_MS } from "../tables.ts";
import { alertImages } from "./alerts.ts";
import type { MatchContext } from "./match-context.ts";
import { matchImages } from "./match-images.ts";
import { matchPackages, spreadAdvisories } from "./match-packages.ts";
import { type Batch, nextBatch, requestEverything } from "./requests.ts";
import { RULES_VERSION } from "./rules.ts";

const RENEW_MS = 15_000;
/** How often to look for requests: those who make them do not know this worker. */
const POLL_MS = 1000;
/** Batches of an organization before others have their turn. */
const BATCHES_PER_TURN = 50;
/** Other writers have at least a third of the time. */
const PAUSE_FACTOR = 0.5;

export interface MatchingOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly publication: Publication;
  readonly names: EventNames;
}

interface Turn {
  readonly orgUid: string;
  readonly begun: Date;
}

export function startMatching(options: MatchingOptions): Worker<Turn> {
  const { store, clock, log } = options;
  const lease = createLease({ store, clock, table: "match_turn", key: "org_uid", durationMs: MATCHING_LEASE_MS });
  let isPrepared = false;
  return new Worker<Turn>({
    name: "comparing packages of images with advisories",
    log,
    lease,
    renewMs: RENEW_MS,
    maxRuns: 1,
    keyOf: ({ orgUid }) => orgUid,
    async claim() {
      if (!isPrepared) await requestEverything(store, await rulesOf(options));
      isPrepared = true;
      const turn = await claimTurn(store, lease, clock.now());
      return { claimed: turn === undefined ? [] : [turn], nextMs: POLL_MS };
    },
    run: (turn, signal) => runTurn(turn, { ...options, lease, signal }),
  });
}

/** Identifies the rules of the comparison; if they change, all packages are compared again. */
async function rulesOf({ store, publication }: MatchingOptions): Promise<string> {
  return JSON.stringify([RULES_VERSION, await publication.roots(store.reader)]);
}

/** The waiting organization whose last turn is longest ago. */
async function claimTurn(store: Store, lease: Lease, now: Date): Promise<Turn | undefined> {
  const { rows } = await sql<{ org_uid: string }>`with recursive waiting (org_uid) as (
      select min(org_uid) from match_request
      union all
      select (select min(r.org_uid) from match_request as r where r.org_uid > waiting.org_uid) from waiting where waiting.org_uid is not null)
    select waiting.org_uid from waiting left join match_turn as t on t.org_uid = waiting.org_uid
    where waiting.org_uid is not null and ${lease.isFree()}
    order by coalesce(t.turn_time, ''), waiting.org_uid limit 1`.execute(store.reader);
  const orgUid = rows[0]?.org_uid;
  if (orgUid === undefined) return undefined;
  return store.transaction(async (db) => {
    const row = { org_uid: orgUid, turn_time: "", ...RELEASED };
    await db
      .insertInto("match_turn")
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return (await lease.claim(db, [orgUid])).has(orgUid) ? { orgUid, begun: now } : undefined;
  });
}

interface TurnContext extends MatchingOptions {
  readonly lease: Lease;
  readonly signal: AbortSignal;
}

async function runTurn(turn: Turn, { lease, signal, ...options }: TurnContext): Promise<void> {
  const { store, clock } = options;
  const pace = createPace({ pauseFactor: PAUSE_FACTOR, signal });
  const context: MatchContext = {
    store,
    publication: options.publication,
    now: () => clock.now(),
    write: (work) => store.transaction((db) => heldBy(lease, turn, db).then(() => work(db))),
  };
  try {
    for (let done = 0; done < BATCHES_PER_TURN && !signal.aborted; done++) {
      const batch = await nextBatch(store.reader, turn.orgUid);
      if (batch === undefined) break;
      await pace(() => work(batch, context, options.names));
    }
  } catch (error) {
    if (error instanceof LostLease || signal.aborted) return;
    // The organization waits, so that a request that fails does not take all turns.
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
    throw error;
  } finally {
    if (!(signal.reason instanceof LostLease)) await release(turn, lease, clock);
  }
}

async function heldBy(lease: Lease, { orgUid }: Turn, db: WriteDb): Promise<void> {
  if (!(await lease.lockHeld(db, [orgUid])).has(orgUid)) throw new LostLease(orgUid);
}

async function release({ orgUid, begun }: Turn, lease: Lease, clock: Clock): Promise<void> {
  await lease.hold(orgUid, async (db) => {
    await recordTurn(db, "match_turn", { orgUid, begun, now: clock.now() });
    await db.updateTable("match_turn").set(RELEASED).where("org_uid", "=", orgUid).execute();
  });
}

function work(batch: Batch, context: MatchContext, names: EventNames): Promise<void> {
  switch (batch.kind) {
    case "image":
      return matchImages(batch, context);
    case "advisory":
      return spreadAdvisories(batch, context);
    case "package":
      return matchPackages(batch, context);
    case "quiet":
    case "alert":
      return alertImages(batch, context, names);
  }
}
