/** Sends the mails that wait, with retries. Servers that share a database share the work by leases. */
import { sql } from "kysely";
import type { Store } from "../db/store.ts";
import { createLease, RELEASED } from "../jobs/lease.ts";
import type { JobQueue } from "../jobs/queue-usage.ts";
import { type Claims, LostLease, Worker } from "../jobs/worker.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { createMailer, type Mailer, type MailSecrets, openMail, WITHOUT_MAIL } from "./mail.ts";
import { createSmtpSender, SmtpFailure, type SmtpParts, type SmtpSender, type SmtpSettings } from "./smtp.ts";

export interface MailOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: MailSecrets;
  /** Empty settings for no mail server. */
  readonly settings: SmtpSettings & { readonly maxMailsPerHour: number };
  readonly parts?: SmtpParts;
}

export interface StartedMail {
  readonly mailer: Mailer;
  readonly worker: AsyncDisposable | undefined;
}

interface DueMail {
  readonly uid: string;
  readonly content: string | null;
  readonly attempts: number;
  readonly expire_time: string;
}

/** The mails that wait, for metrics. */
export const MAIL_QUEUE: JobQueue = { name: "mails", table: "mail", where: sql`content is not null`, since: "next_attempt_time" };

const LEASE_MS = 120_000;
const RENEW_MS = 30_000;
/** Looks this often for mails of other servers and for retries. */
const POLL_MS = 1000;
const MAX_RUNS = 4;
const FIRST_BACKOFF_MS = 10_000;
const MAX_BACKOFF_MS = 3_600_000;
/** Rows of mails that were sent stay this long, for the limits. */
const KEPT_MS = 24 * 3_600_000;
const ROWS_PER_PRUNING = 500;

/** Without a mail server nothing is promised and nothing runs. */
export function startMail(options: MailOptions): StartedMail {
  const { secrets, settings, parts } = options;
  if (settings.smtpUrl === "") return { mailer: WITHOUT_MAIL, worker: undefined };
  const worker = startWorker(options, createSmtpSender(settings, parts));
  return { mailer: createMailer(secrets, () => worker.wake(), settings.maxMailsPerHour), worker };
}

function startWorker({ store, clock, log, secrets }: MailOptions, sender: SmtpSender): Worker<DueMail> {
  const lease = createLease({ store, clock, table: "mail", key: "uid", durationMs: LEASE_MS });

  async function claim(): Promise<Claims<DueMail>> {
    const now = clock.now();
    const due = store.reader.selectFrom("mail").select("uid").where("next_attempt_time", "<=", now.toISOString()).where(lease.isFree());
    if ((await due.limit(1).executeTakeFirst()) === undefined) return { claimed: [], nextMs: POLL_MS };
    const claimed = await store.transaction(async (db) => {
      await prune(now);
      const query = db
        .selectFrom("mail")
        .select(["uid", "content", "attempts", "expire_time"])
        .where("next_attempt_time", "<=", now.toISOString())
        .where(lease.isFree())
        .orderBy("next_attempt_time")
        .orderBy("uid")
        .limit(1);
      const rows = await db.dialect.forClaim(query).execute();
      const held = await lease.claim(
        db,
        rows.map(({ uid }) => uid),
      );
      return rows.filter(({ uid }) => held.has(uid));

      async function prune(at: Date): Promise<void> {
        const old = db
          .selectFrom("mail")
          .select("uid")
          .where("create_time", "<", new Date(at.getTime() - KEPT_MS).toISOString())
          .where("next_attempt_time", "is", null)
          .limit(ROWS_PER_PRUNING);
        await db.deleteFrom("mail").where("uid", "in", old).execute();
      }
    });
    return { claimed, nextMs: claimed.length === 0 ? POLL_MS : 0 };
  }

  async function run({ uid, content, attempts, expire_time }: DueMail, signal: AbortSignal): Promise<void> {
    const end = (reason?: string) => {
      if (reason !== undefined) log.error({ mail: uid, reason, attempts }, "a mail was given up");
      return lease.hold(uid, (db) =>
        db
          .updateTable("mail")
          .set({ content: null, next_attempt_time: null, ...RELEASED })
          .where("uid", "=", uid)
          .execute(),
      );
    };
    if (signal.reason instanceof LostLease) return;
    if (content === null || expire_time <= clock.now().toISOString()) return void (await end("it has expired"));
    try {
      await sender.send(uid, openMail({ uid, content }, secrets));
    } catch (error) {
      if (!(error instanceof SmtpFailure)) throw error;
      if (error.isPermanent) return void (await end(`the mail server refused it: ${error.message}`));
      log.warn({ mail: uid, reason: error.message, attempts: attempts + 1 }, "a mail could not be sent; it is tried again");
      const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(attempts, 20), MAX_BACKOFF_MS);
      const next_attempt_time = new Date(clock.now().getTime() + backoff).toISOString();
      await lease.hold(uid, (db) =>
        db
          .updateTable("mail")
          .set({ attempts: attempts + 1, next_attempt_time, ...RELEASED })
          .where("uid", "=", uid)
          .execute(),
      );
      return;
    }
    await end();
  }

  return new Worker({ name: "sending mails", log, lease, renewMs: RENEW_MS, maxRuns: MAX_RUNS, keyOf: ({ uid }) => uid, claim, run });
}
