/** Sends the mails that wait, with retries. Servers that share a database share the work by leases. */
import type { Store } from "../db/store.ts";
import { type ClaimResult, LostLease, Worker } from "../jobs/worker.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { createMailer, type Mailer, type MailSecrets, openMail, WITHOUT_MAIL } from "./mail.ts";
import { createMailQueue, type DueMail } from "./mail-queue.ts";
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

const RENEW_MS = 30_000;
/** Looks this often for mails of other servers and for retries. */
const POLL_MS = 1000;
const MAX_RUNS = 4;

/** Without a mail server nothing is promised and nothing runs. */
export function startMail(options: MailOptions): StartedMail {
  const { secrets, settings, parts } = options;
  if (settings.smtpUrl === "") return { mailer: WITHOUT_MAIL, worker: undefined };
  const worker = startWorker(options, createSmtpSender(settings, parts));
  return { mailer: createMailer(secrets, () => worker.wake(), settings.maxMailsPerHour), worker };
}

function startWorker({ store, clock, log, secrets }: MailOptions, sender: SmtpSender): Worker<DueMail> {
  const queue = createMailQueue(store, clock);

  async function claim(): Promise<ClaimResult<DueMail>> {
    const mail = await queue.claim();
    return mail === undefined ? { claimed: [], nextMs: POLL_MS } : { claimed: [mail], nextMs: 0 };
  }

  async function run(mail: DueMail, signal: AbortSignal): Promise<void> {
    const { uid, content, attempts, expire_time } = mail;
    if (signal.reason instanceof LostLease) return;
    if (content === null || expire_time <= clock.now().toISOString()) return giveUp(mail, "it has expired");
    try {
      await sender.send(uid, openMail({ uid, content }, secrets));
    } catch (error) {
      if (!(error instanceof SmtpFailure)) throw error;
      if (error.isPermanent) return giveUp(mail, `the mail server refused it: ${error.message}`);
      log.warn({ mail: uid, reason: error.message, attempts: attempts + 1 }, "a mail could not be sent; it is tried again");
      await queue.retry(mail);
      return;
    }
    await queue.end(mail);
  }

  async function giveUp(mail: DueMail, reason: string): Promise<void> {
    log.error({ mail: mail.uid, reason, attempts: mail.attempts }, "a mail was given up");
    await queue.end(mail);
  }

  const { lease } = queue;
  return new Worker({ name: "sending mails", log, lease, renewMs: RENEW_MS, maxRuns: MAX_RUNS, keyOf: ({ uid }) => uid, claim, run });
}
