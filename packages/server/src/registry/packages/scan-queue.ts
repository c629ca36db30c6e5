/**
 * The queue of manifests whose packages are to be read, in rows of `image_scan`: claims scans, and stores how they
 * ended. A transaction that changes which organizations wait for a manifest has locked its row.
 */
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import { lockTurns, recordTurn } from "../../jobs/fair-share.ts";
import { createLease, type Lease, RELEASED } from "../../jobs/lease.ts";
import { LostLease } from "../../jobs/worker.ts";
import type { Clock } from "../../lib/clock.ts";
import { type ImageScanTable, SCAN_LEASE_MS } from "../tables.ts";
import { requestMatching } from "./match-requests.ts";
import { appendWait, findNext, nextDue, postponeWaits, removeWaits, waitingOrganizations } from "./scan-waits.ts";

/** Runs that were interrupted. A manifest that cannot be read because of its content is not tried again. */
export const MAX_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 10_000;
const MAX_ERROR_LENGTH = 4000;

/** Call it when an organization has a manifest in a repo for the first time. Cheap, for the transaction of a push. */
export async function appendScan(db: WriteDb, digest: string, orgUid: string, now: Date): Promise<void> {
  const empty = { ...RELEASED, read_time: null, distribution: "", error: "", package_count: 0 };
  await db
    .insertInto("image_scan")
    .values({ digest, state: "pending", attempts: 0, ...empty })
    .onConflict((conflict) =>
      // A scan that is done is not repeated, but its origins are recorded for this organization, too. A failed scan is repeated.
      conflict.column("digest").doUpdateSet((eb) => ({
        attempts: sql`case when image_scan.state = 'pending' then image_scan.attempts else 0 end`,
        state: eb
          .case()
          .when("image_scan.state", "=", "failed")
          .then("pending" as const)
          .else(eb.ref("image_scan.state"))
          .end(),
      })),
    )
    .execute();
  await appendWait(db, digest, orgUid, now);
}

export interface ClaimedScan {
  readonly digest: string;
  /** The organization whose turn it is. */
  readonly orgUid: string;
  readonly begun: Date;
  /** Whether the packages are stored already, and only their origins are to be recorded for the organization. */
  readonly isRead: boolean;
  readonly attempts: number;
}

export interface ScanResult {
  readonly state: "done" | "failed";
  readonly distribution: string;
  readonly error: string;
  readonly packageCount: number;
}

export interface ScanQueue {
  readonly lease: Lease;
  /** Counts as an attempt, so that a manifest that kills each server that scans it is given up. */
  claim(): Promise<ClaimedScan | undefined>;
  /** The earliest time at which there may be something to claim; null for never. */
  nextDue(): Promise<Date | null>;
  /** False where this server does not have the scan any more. */
  renew(claim: ClaimedScan): Promise<boolean>;
  /** Locks the row of the claim in the caller's transaction. @throws LostLease */
  assertHeld(db: WriteDb, claim: ClaimedScan): Promise<void>;
  /** Stores the result. If all packages could be read, their origins are recorded next, for each organization that waits. */
  finish(claim: ClaimedScan, result: ScanResult): Promise<void>;
  /** The origins are recorded for the organization whose turn it was. */
  originsRecorded(claim: ClaimedScan): Promise<void>;
  /** The scan is repeated later, or fails if it was repeated too often. */
  postpone(claim: ClaimedScan, reason: string): Promise<void>;
  /** The scan waits again, as if it had not been claimed. */
  release(claim: ClaimedScan): Promise<void>;
}

type Change = Partial<Omit<ImageScanTable, "digest">>;

export function createScanQueue(store: Store, clock: Clock): ScanQueue {
  const lease = createLease({ store, clock, table: "image_scan", key: "digest", durationMs: SCAN_LEASE_MS });
  return {
    lease,
    claim: () => store.transaction((db) => claimNext(db, lease, clock.now())),
    nextDue: () => nextDue(store.reader, lease),
    renew: async (claim) => (await lease.renew([claim.digest], (db) => recordScanTurn(db, claim, clock.now()))).size > 0,
    async assertHeld(db, { digest }) {
      if ((await lease.lockHeld(db, [digest])).size === 0) throw new LostLease(digest);
    },
    ...createEndings(lease, clock),
  };
}

/** The ways in which a claim ends. */
function createEndings(lease: Lease, clock: Clock): Pick<ScanQueue, "finish" | "originsRecorded" | "postpone" | "release"> {
  const after = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
  /** Ends the claim. @param also what changes in the same transaction */
  const end = (claim: ClaimedScan, values: Change, also?: (db: WriteDb) => Promise<void>) =>
    lease.hold(claim.digest, async (db) => {
      await db
        .updateTable("image_scan")
        .set({ ...values, ...RELEASED })
        .where("digest", "=", claim.digest)
        .execute();
      await also?.(db);
      await recordScanTurn(db, claim, clock.now());
    });
  return {
    async finish(claim, { state, distribution, error, packageCount }) {
      const result = { state, distribution, error: error.slice(0, MAX_ERROR_LENGTH), package_count: packageCount };
      await end(claim, { ...result, attempts: 0, read_time: after(0) }, async (db) => {
        if (state === "failed") {
          await requestMatching(db, claim.digest, await waitingOrganizations(db, claim.digest));
          await removeWaits(db, claim.digest);
        }
      });
    },
    async originsRecorded(claim) {
      await end(claim, { attempts: 0 }, async (db) => {
        await requestMatching(db, claim.digest, [claim.orgUid]);
        await removeWaits(db, claim.digest, claim.orgUid);
      });
    },
    async postpone(claim, reason) {
      const { digest, orgUid, isRead, attempts } = claim;
      if (attempts < MAX_ATTEMPTS) {
        const due = after(FIRST_PAUSE_MS * 4 ** (attempts - 1));
        await end(claim, isRead ? {} : { error: reason.slice(0, MAX_ERROR_LENGTH) }, (db) => postponeWaits(db, digest, due));
      } else if (isRead) {
        // The origins are still recorded for the other organizations.
        await end(claim, { attempts: 0 }, (db) => removeWaits(db, digest, orgUid));
      } else {
        const failure = { state: "failed", error: reason.slice(0, MAX_ERROR_LENGTH), read_time: after(0) } as const;
        await end(claim, failure, (db) => removeWaits(db, digest));
      }
    },
    async release(claim) {
      await end(claim, { attempts: claim.attempts - 1 });
    },
  };
}

async function claimNext(db: WriteDb, lease: Lease, now: Date): Promise<ClaimedScan | undefined> {
  await lockTurns(db, "image_turn");
  const next = await findNext(db, lease, now);
  if (next === undefined) return undefined;
  const { digest, orgUid } = next;
  const query = db.selectFrom("image_scan").select(["state", "attempts"]).where("digest", "=", digest).where(lease.isFree());
  const row = await db.dialect.forUpdate(query).executeTakeFirst();
  if (row === undefined) return undefined;
  const attempts = row.attempts + 1;
  await lease.claim(db, [digest]);
  await db.updateTable("image_scan").set({ attempts }).where("digest", "=", digest).execute();
  await recordScanTurn(db, { orgUid, begun: now }, now);
  return { digest, orgUid, begun: now, isRead: row.state === "done", attempts };
}

function recordScanTurn(db: WriteDb, { orgUid, begun }: Pick<ClaimedScan, "orgUid" | "begun">, now: Date): Promise<void> {
  return recordTurn(db, "image_turn", { orgUid, begun, now });
}
