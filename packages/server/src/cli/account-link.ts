/**
 * Makes a link by which a person sets up a way to sign in. It is for the bootstrap owner, who gets an account of this
 * server with the same identity, and for people who cannot sign in any more. Access to the database is proof enough.
 */
import type { Config } from "../config.ts";
import type { WriteDb } from "../db/store.ts";
import { eventSubjects } from "../domains.ts";
import { appendAccountEvent } from "../iam/accounts/account-events.ts";
import { NOTICES } from "../iam/accounts/account-notices.ts";
import { emailKey, findAccount, insertAccount, newUserHandle } from "../iam/accounts/account-record.ts";
import { createRecoveryLink, recoveryUrl } from "../iam/accounts/recovery-links.ts";
import { createMailer, WITHOUT_MAIL } from "../mail/mail.ts";
import { openInstallation } from "./open-installation.ts";

const LIFETIME_MS = 3_600_000;

export interface LinkOptions {
  /** Uid of an identity, or an email address; empty for the bootstrap owner. */
  readonly person: string;
  /** Whether the person needs no code of the authenticator app. */
  readonly resetsSecondFactor: boolean;
}

/** Prints the link. @throws Error for the operator */
export async function printAccountLink(config: Config, options: LinkOptions): Promise<void> {
  console.log(await accountLink(config, options));
}

async function accountLink(config: Config, { person, resetsSecondFactor }: LinkOptions): Promise<string> {
  if (!config.localAccounts) throw new Error("local accounts are turned off; set HOLT_LOCAL_ACCOUNTS=on");
  await using installation = await openInstallation(config, { use: "command", command: `account-link ${person}` });
  const { store, clock } = installation;
  const { bootstrapOwner } = await installation.bootstrap();
  const now = clock.now();
  const { vendorProfile: profile, baseUrl, smtpUrl } = config;
  const names = { profile, baseUrl, subjects: eventSubjects, onAppend() {} };
  // The server sends the mail.
  const mailer = smtpUrl === "" ? WITHOUT_MAIL : createMailer(await installation.openSecrets(), () => {});
  const token = await store.transaction(async (db) => {
    const identityUid = person === "" ? await openOwnersAccount(db, bootstrapOwner, now) : await findPerson(db, person);
    const expireTime = new Date(now.getTime() + LIFETIME_MS);
    const body = { reset_second_factor: resetsSecondFactor };
    const event = { name: "recovery_created", identityUid, body, notice: NOTICES.linkCreated, actor: bootstrapOwner, now } as const;
    await appendAccountEvent(db, event, { names, mailer });
    return createRecoveryLink(db, { identityUid, resetsSecondFactor, creator: "", expireTime }, now);
  });
  return recoveryUrl(config.baseUrl, token);
}

/** The subject is that of the owner's tokens, so that the owner stays the same person to others. */
async function openOwnersAccount(db: WriteDb, owner: string, now: Date): Promise<string> {
  const draft = { subject: owner, userHandle: newUserHandle(), email: "", emailWithin: undefined, name: "Bootstrap owner" };
  if ((await findAccount(db, owner)) === undefined) await insertAccount(db, owner, draft, now);
  return owner;
}

async function findPerson(db: WriteDb, uidOrEmail: string): Promise<string> {
  const found = await db
    .selectFrom("local_account")
    .select("identity_uid")
    .where((where) =>
      where.or([where("identity_uid", "=", uidOrEmail), where("email", "=", uidOrEmail), where("email_key", "=", emailKey(uidOrEmail))]),
    )
    .limit(2)
    .execute();
  const [only] = found;
  if (only === undefined) throw new Error(`there is no account of "${uidOrEmail}"`);
  if (found.length > 1) throw new Error(`there are ${found.length} accounts of "${uidOrEmail}"; give the uid of one`);
  return only.identity_uid;
}
