/** The queue of mails: which are due, and what becomes of one after an attempt. */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import { createLease, type Lease, RELEASED } from "../jobs/lease.ts";
import type { JobQueue } from "../jobs/queue-usage.ts";
import type { Clock } from "../lib/clock.ts";

export interface DueMail {
  readonly uid: string;
  readonly content: string | null;
  readonly attempts: number;
  readonly expire_time: string;
}

export interface MailQueue {
  readonly lease: Lease;
  /** Claims the mail that has been due for the longest time; undefined if none is due. */
  claim(): Promise<DueMail | undefined>;
  /** Lets the mail wait for another attempt, and releases it. @returns false if the lease is lost */
  retry(mail: DueMail): Promise<boolean>;
  /** Forgets the content of a mail that was sent or given up, and releases it. @returns false if the lease is lost */
  end(mail: DueMail): Promise<boolean>;
}

const LEASE_MS = 120_000;

/** The mails that wait, for metrics. */
export const MAIL_QUEUE: JobQueue = {
  name: "mails",
  table: "mail",
  leaseMs: LEASE_MS,
  where: sql`content is not null`,
  since: "next_attempt_time",
};

/** The columns that change when a mail is released. */
type ReleasedColumns = { attempts: number; next_attempt_time: string } | { content: null; next_attempt_time: null };

const FIRST_BACKOFF_MS = 10_000;
const MAX_BACKOFF_MS = 3_600_000;
/** Rows of mails that were sent stay this long, for the limits. */
const KEPT_MS = 24 * 3_600_000;
const ROWS_PER_PRUNING = 500;

export function createMailQueue(store: Store, clock: Clock): MailQueue {
  const lease = createLease({ store, clock, table: "mail", key: "uid", durationMs: LEASE_MS });

  const due = (db: ReadDb, now: Date) => db.selectFrom("mail").where("next_attempt_time", "<=", now.toISOString()).where(lease.isFree());

  const release = ({ uid }: DueMail, changed: ReleasedColumns) =>
    lease.hold(uid, (db) =>
      db
        .updateTable("mail")
        .set({ ...changed, ...RELEASED })
        .where("uid", "=", uid)
        .execute(),
    );

  return {
    lease,
    async claim() {
      const now = clock.now();
      if ((await due(store.reader, now).select("uid").limit(1).executeTakeFirst()) === undefined) return undefined;
      return store.transaction(async (db) => {
        await prune(db, now);
        const columns = ["uid", "content", "attempts", "expire_time"] as const;
        const oldest = due(db, now).select(columns).orderBy("next_attempt_time").orderBy("uid").limit(1);
        const mail = await db.dialect.forClaim(oldest).executeTakeFirst();
        if (mail === undefined) return undefined;
        return (await lease.claim(db, [mail.uid])).has(mail.uid) ? mail : undefined;
      });
    },
    retry(mail) {
      const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(mail.attempts, 20), MAX_BACKOFF_MS);
      return release(mail, { attempts: mail.attempts + 1, next_attempt_time: new Date(clock.now().getTime() + backoffMs).toISOString() });
    },
    end: (mail) => release(mail, { content: null, next_attempt_time: null }),
  };
}

async function prune(db: WriteDb, now: Date): Promise<void> {
  const old = db
    .selectFrom("mail")
    .select("uid")
    .where("create_time", "<", new Date(now.getTime() - KEPT_MS).toISOString())
    .where("next_attempt_time", "is", null)
    .limit(ROWS_PER_PRUNING);
  await db.deleteFrom("mail").where("uid", "in", old).execute();
}
