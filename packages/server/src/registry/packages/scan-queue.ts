/**
 * Rows of `image_scan`: how far each manifest is read, who is at one, and what became of it. A claim holds for a while, is renewed, and is told from a
 * later one by its time. Whoever changes who waits for a manifest has its row locked.
 */
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ImageScanTable } from "../tables.ts";
import { appendWait, findTurn, lockTurns, nextDue, postponeWaits, removeWaits, takeTurn } from "./reading-turns.ts";

const LEASE_MS = 60_000;
/** Each of them was cut short; what the content is at fault for is not tried again. */
export const MAX_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 10_000;
const MAX_ERROR = 4000;

/** An organization has a manifest in a repo that was not there before. Cheap, for the transaction of a push. */
export async function appendScan(db: WriteDb, digest: string, orgUid: string, now: Date): Promise<void> {
  const nothing = { lease_time: null, read_time: null, distribution: "", error: "", package_count: 0 };
  await db
    .insertInto("image_scan")
    .values({ digest, state: "pending", attempts: 0, ...nothing })
    .onConflict((conflict) =>
      // What is read need not be read again, but its origins are told to this organization, too; what failed is tried once more.
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

export interface Claim {
  readonly digest: string;
  /** Whose turn it is. */
  readonly orgUid: string;
  readonly begun: Date;
  /** Whether only its origins are to be told. */
  readonly isRead: boolean;
  readonly attempts: number;
  /** Until when; it names the claim. */
  lease: string;
}

export interface Outcome {
  readonly state: "done" | "failed";
  readonly distribution: string;
  readonly error: string;
  readonly packageCount: number;
}

export interface ScanQueue {
  /** Counts as an attempt: what ends a server that reads it is not read for ever. */
  claim(): Promise<Claim | undefined>;
  /** When there is something to claim, at the earliest; null for never. */
  nextDue(): Promise<Date | null>;
  /** False where somebody else has taken it, or it is gone. */
  renew(claim: Claim): Promise<boolean>;
  /** Locks the claim in the caller's transaction. @throws LostClaim */
  assertHeld(db: WriteDb, claim: Claim): Promise<void>;
  /** What was read is there. Where that is all of it, its origins are told next, to each who waits. */
  finish(claim: Claim, outcome: Outcome): Promise<void>;
  /** Its origins are told to whose turn it was. */
  settle(claim: Claim): Promise<void>;
  /** It is tried again later, unless it was tried often enough. */
  postpone(claim: Claim, reason: string): Promise<void>;
  /** As if it had not been claimed. */
  giveBack(claim: Claim): Promise<void>;
  /** Makes void what a server left behind that was killed. For a database that has no other server. */
  releaseAll(): Promise<void>;
}

export class LostClaim extends Error {
  override readonly name = "LostClaim";
}

type Change = Partial<Omit<ImageScanTable, "digest">>;

export function createScanQueue(store: Store, clock: Clock): ScanQueue {
  const after = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
  /** @param onHeld what is changed with it */
  const change = (held: Claim, values: Change, onHeld?: (db: WriteDb) => Promise<void>) =>
    store.transaction(async (db) => {
      const query = db.updateTable("image_scan").set(values).where("digest", "=", held.digest).where("lease_time", "=", held.lease);
      if ((await query.executeTakeFirstOrThrow()).numUpdatedRows === 0n) return false;
      await onHeld?.(db);
      await takeTurn(db, held.orgUid, held.begun, clock.now());
      return true;
    });
  return {
    claim: () => store.transaction((db) => claim(db, clock.now(), after(LEASE_MS))),
    nextDue: () => nextDue(store.reader, clock.now()),
    async renew(held) {
      const lease = after(LEASE_MS);
      const isHeld = await change(held, { lease_time: lease });
      if (isHeld) held.lease = lease;
      return isHeld;
    },
    assertHeld,
    async finish(held, { state, distribution, error, packageCount }) {
      const outcome = { state, distribution, error: error.slice(0, MAX_ERROR), package_count: packageCount };
      await change(held, { ...outcome, attempts: 0, read_time: after(0), lease_time: null }, async (db) => {
        if (state === "failed") await removeWaits(db, held.digest);
      });
    },
    async settle(held) {
      await change(held, { attempts: 0, lease_time: null }, (db) => removeWaits(db, held.digest, held.orgUid));
    },
    async postpone(held, reason) {
      const { digest, orgUid, isRead, attempts } = held;
      const isLast = attempts >= MAX_ATTEMPTS;
      const failure: Change = { error: reason.slice(0, MAX_ERROR), ...(isLast && { state: "failed", read_time: after(0) }) };
      // Others have their origins told all the same.
      const untold: Change = isLast ? { attempts: 0 } : {};
      await change(held, { ...(isRead ? untold : failure), lease_time: null }, (db) =>
        isLast
          ? removeWaits(db, digest, isRead ? orgUid : undefined)
          : postponeWaits(db, digest, after(FIRST_PAUSE_MS * 4 ** (attempts - 1))),
      );
    },
    async giveBack(held) {
      await change(held, { attempts: held.attempts - 1, lease_time: null });
    },
    async releaseAll() {
      const free = { lease_time: null };
      await store.transaction((db) => db.updateTable("image_scan").set(free).where("lease_time", "is not", null).execute());
    },
  };
}

async function claim(db: WriteDb, now: Date, lease: string): Promise<Claim | undefined> {
  const time = now.toISOString();
  await lockTurns(db);
  const turn = await findTurn(db, now);
  if (turn === undefined) return undefined;
  const { digest, orgUid } = turn;
  const free = db
    .selectFrom("image_scan")
    .select(["state", "attempts"])
    .where("digest", "=", digest)
    .where(({ or, eb }) => or([eb("lease_time", "is", null), eb("lease_time", "<", time)]));
  const row = await db.dialect.forUpdate(free).executeTakeFirst();
  if (row === undefined) return undefined;
  const attempts = row.attempts + 1;
  await db.updateTable("image_scan").set({ lease_time: lease, attempts }).where("digest", "=", digest).execute();
  await takeTurn(db, orgUid, now, now);
  return { digest, orgUid, begun: now, isRead: row.state === "done", attempts, lease };
}

async function assertHeld(db: WriteDb, { digest, lease }: Claim): Promise<void> {
  const query = db.selectFrom("image_scan").select("digest").where("digest", "=", digest).where("lease_time", "=", lease);
  if ((await db.dialect.forUpdate(query).executeTakeFirst()) === undefined) throw new LostClaim(digest);
}
