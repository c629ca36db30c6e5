/** Rows of `image_scan`: which manifests are to be read, who is at one, and what became of it. A claim holds for a while, is renewed, and is told from a later one by its time. */
import { type RawBuilder, sql } from "kysely";
import type { ImageScanTable } from "../../db/schema.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";

const LEASE_MS = 60_000;
/** Each of them was cut short; what the content is at fault for is not tried again. */
export const MAX_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 10_000;
const MAX_ERROR = 4000;

/** A manifest is in a repo that was not there before. Cheap, for the transaction of a push. */
export async function appendScan(db: WriteDb, digest: string, now: Date): Promise<void> {
  const due_time = now.toISOString();
  const first = {
    state: "pending",
    attempts: 0,
    due_time,
    lease_time: null,
    read_time: null,
    distribution: "",
    error: "",
    package_count: 0,
  } as const;
  await db
    .insertInto("image_scan")
    .values({ digest, ...first })
    .onConflict((conflict) =>
      // What is read need not be read again, but the repo's organization may not know its origins; what failed is tried once more.
      conflict.column("digest").doUpdateSet((eb) => ({
        due_time: sql`case when image_scan.state = 'pending' then image_scan.due_time else ${due_time} end`,
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
}

export interface Claim {
  readonly digest: string;
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
  /** When something is due, at the earliest; null for never. */
  nextDue(): Promise<Date | null>;
  /** False where somebody else has taken it, or it is gone. */
  renew(claim: Claim): Promise<boolean>;
  /** Locks the claim in the caller's transaction. @throws LostClaim */
  assertHeld(db: WriteDb, claim: Claim): Promise<void>;
  /** What was read is there. Where that is all of it, its origins are due to be told next. */
  finish(claim: Claim, outcome: Outcome): Promise<void>;
  /** Its origins are told, to everybody who had it when this began. */
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

type Change = Partial<Omit<ImageScanTable, "due_time">> & { readonly due_time: string | null | RawBuilder<string | null> };

export function createScanQueue(store: Store, clock: Clock): ScanQueue {
  const after = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
  const change = (held: Claim, values: Change) =>
    store.transaction(async (db) => {
      const query = db.updateTable("image_scan").set(values).where("digest", "=", held.digest).where("lease_time", "=", held.lease);
      return (await query.executeTakeFirstOrThrow()).numUpdatedRows > 0n;
    });
  return {
    claim: () => store.transaction((db) => claim(db, clock.now(), after(LEASE_MS))),
    async nextDue() {
      const query = store.reader.selectFrom("image_scan").select("due_time").where("due_time", "is not", null);
      const row = await query.orderBy("due_time").limit(1).executeTakeFirst();
      return row?.due_time == null ? null : new Date(row.due_time);
    },
    async renew(held) {
      const lease = after(LEASE_MS);
      const isHeld = await change(held, { lease_time: lease, due_time: dueUnlessPushed(held, lease) });
      if (isHeld) held.lease = lease;
      return isHeld;
    },
    assertHeld,
    async finish(held, { state, distribution, error, packageCount }) {
      const outcome = { state, distribution, error: error.slice(0, MAX_ERROR), package_count: packageCount };
      const due_time = state === "done" ? after(0) : null;
      await change(held, { ...outcome, attempts: 0, read_time: after(0), due_time, lease_time: null });
    },
    async settle(held) {
      await change(held, { attempts: 0, due_time: dueUnlessPushed(held, null), lease_time: null });
    },
    async postpone(held, reason) {
      const isLast = held.attempts >= MAX_ATTEMPTS;
      const due_time = isLast ? null : after(FIRST_PAUSE_MS * 4 ** (held.attempts - 1));
      const failure: Partial<ImageScanTable> = isLast ? { state: "failed", read_time: after(0) } : {};
      await change(held, { ...(!held.isRead && { ...failure, error: reason.slice(0, MAX_ERROR) }), due_time, lease_time: null });
    },
    async giveBack(held) {
      await change(held, { attempts: held.attempts - 1, due_time: after(0), lease_time: null });
    },
    async releaseAll() {
      const free = { lease_time: null, due_time: after(0) };
      await store.transaction((db) => db.updateTable("image_scan").set(free).where("lease_time", "is not", null).execute());
    },
  };
}

/** A claim is due again when it ends. Whoever pushes meanwhile says another time, which stays. */
function dueUnlessPushed({ lease }: Claim, next: string | null): RawBuilder<string | null> {
  return sql`case when due_time = ${lease} then ${next} else due_time end`;
}

async function claim(db: WriteDb, now: Date, lease: string): Promise<Claim | undefined> {
  const time = now.toISOString();
  const due = db
    .selectFrom("image_scan")
    .select(["digest", "state", "attempts"])
    .where("due_time", "<=", time)
    .where(({ or, eb }) => or([eb("lease_time", "is", null), eb("lease_time", "<", time)]))
    .orderBy("due_time")
    .limit(1);
  const row = await db.dialect.forClaim(due).executeTakeFirst();
  if (row === undefined) return undefined;
  const attempts = row.attempts + 1;
  await db.updateTable("image_scan").set({ lease_time: lease, due_time: lease, attempts }).where("digest", "=", row.digest).execute();
  return { digest: row.digest, isRead: row.state === "done", attempts, lease };
}

async function assertHeld(db: WriteDb, { digest, lease }: Claim): Promise<void> {
  const query = db.selectFrom("image_scan").select("digest").where("digest", "=", digest).where("lease_time", "=", lease);
  if ((await db.dialect.forUpdate(query).executeTakeFirst()) === undefined) throw new LostClaim(digest);
}
