/** Stores local accounts, and turns them into people's accounts as other issuers have them. */
import { randomBytes } from "node:crypto";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import type { PersonAccount } from "../identities/person-account.ts";
import { userIdentityUid } from "../identities/user-identity.ts";
import type { LocalAccountTable } from "../tables.ts";
import { normalizeIssuer } from "../tokens/jwt.ts";

/** An account as it is stored. */
export type LocalAccount = LocalAccountTable;

/** A way to sign in. */
export type CredentialKind = "passkey" | "password";

/** An account before it is stored. */
export interface AccountDraft {
  readonly subject: string;
  readonly userHandle: string;
  /** Empty for none. */
  readonly email: string;
  /** Uid of the organization that invited this address; undefined if none did. */
  readonly emailWithin: string | undefined;
  readonly name: string;
}

/** The prefix keeps a subject from ever equaling a uid, which is the subject of this server's tokens. */
export function newSubject(): string {
  return `account-${randomBytes(16).toString("base64url")}`;
}

export function newUserHandle(): string {
  return randomBytes(32).toString("base64url");
}

/** Mail providers ignore the case of ASCII letters. */
export function emailKey(email: string): string {
  return email.normalize("NFC").toLowerCase();
}

export function findAccount(db: ReadDb, identityUid: string): Promise<LocalAccountTable | undefined> {
  return db.selectFrom("local_account").selectAll().where("identity_uid", "=", identityUid).executeTakeFirst();
}

/** Changes with each change of the account; empty if there is none. */
export async function accountVersion(db: ReadDb, identityUid: string): Promise<string> {
  return (await findAccount(db, identityUid))?.update_time ?? "";
}

/** More accounts than one person has. */
const MAX_ACCOUNTS_PER_ADDRESS = 10;

/**
 * Accounts that sign in with the address and a password: confirmed ones first, then the oldest. A new account with the
 * address of another must not keep that one from signing in.
 */
export function findAccountsByEmail(db: ReadDb, email: string): Promise<LocalAccountTable[]> {
  return db
    .selectFrom("local_account")
    .selectAll()
    .where("email_key", "=", emailKey(email))
    .orderBy((eb) => eb.case().when("email_verified_time", "is", null).then(1).else(0).end())
    .orderBy("create_time")
    .orderBy("identity_uid")
    .limit(MAX_ACCOUNTS_PER_ADDRESS)
    .execute();
}

export async function hasAccounts(db: ReadDb): Promise<boolean> {
  return (await db.selectFrom("local_account").select("identity_uid").limit(1).executeTakeFirst()) !== undefined;
}

/** Locks the row until the transaction ends. @throws NOT_FOUND */
export async function lockAccount(db: WriteDb, identityUid: string): Promise<LocalAccountTable> {
  const row = await findAccountForUpdate(db, identityUid);
  if (row === undefined) throw notFound("Account", identityUid.slice(0, 200));
  return row;
}

/** As `lockAccount`; undefined if there is no account. */
export function findAccountForUpdate(db: WriteDb, identityUid: string): Promise<LocalAccountTable | undefined> {
  return db.dialect.forUpdate(db.selectFrom("local_account").selectAll().where("identity_uid", "=", identityUid)).executeTakeFirst();
}

/** The identity must exist. @param issuer of this server */
export async function insertAccount(db: WriteDb, identityUid: string, draft: AccountDraft, now: Date): Promise<void> {
  const time = now.toISOString();
  const { subject, userHandle: user_handle, email, emailWithin, name } = draft;
  await db
    .insertInto("local_account")
    .values({
      identity_uid: identityUid,
      subject,
      user_handle,
      email,
      name,
      email_within: emailWithin ?? null,
      email_key: null,
      email_verified_time: null,
      password_hash: null,
      totp_secret: null,
      totp_step: null,
      disabled_time: null,
      create_time: time,
      update_time: time,
    })
    .execute();
}

export type AccountChange = Partial<
  Pick<LocalAccountTable, "email" | "email_key" | "password_hash" | "totp_secret" | "totp_step" | "disabled_time">
>;

export async function updateAccount(db: WriteDb, identityUid: string, change: AccountChange, now: Date): Promise<void> {
  await db
    .updateTable("local_account")
    .set({ ...change, update_time: now.toISOString() })
    .where("identity_uid", "=", identityUid)
    .execute();
}

/** The person of an account that is not stored yet. Its identity shows the address as unverified. */
export function personFromDraft(draft: AccountDraft, issuer: string, credential: CredentialKind): PersonAccount {
  const person = personOf({ ...draft, credential, isVerified: false, identityUid: userIdentityUid(issuer, draft.subject) }, issuer);
  return draft.email === "" ? person : { ...person, profile: { ...person.profile, email: draft.email } };
}

/** @param credential how the person has signed in; undefined if no session begins */
export function personFromAccount(row: LocalAccountTable, issuer: string, credential?: CredentialKind): PersonAccount {
  const { identity_uid: identityUid, subject, email, name } = row;
  const isVerified = row.email_verified_time !== null;
  const person = personOf(
    { identityUid, subject, email, name, emailWithin: row.email_within ?? undefined, isVerified, credential },
    issuer,
  );
  return { ...person, accountVersion: row.update_time };
}

interface Person extends Omit<AccountDraft, "userHandle"> {
  readonly identityUid: string;
  readonly isVerified: boolean;
  readonly credential?: CredentialKind | undefined;
}

/** Methods by RFC 8176. A passkey verifies its user, and a password comes with a code: both are two factors. */
const METHODS = { passkey: ["pop", "user", "mfa"], password: ["pwd", "otp", "mfa"] };

/**
 * The organization that invited an address accepts it; elsewhere, only a confirmed address counts. Tokens have
 * no other address, since identities may match it.
 */
function personOf({ identityUid, subject, email, emailWithin, name, isVerified, credential }: Person, baseUrl: string): PersonAccount {
  const issuer = normalizeIssuer(baseUrl);
  const isBelieved = isVerified || emailWithin !== undefined;
  return {
    identityUid,
    issuer,
    subject,
    profile: {
      actor: { iss: issuer, sub: subject, aud: issuer },
      email: isVerified ? email : undefined,
      emailVerified: isVerified,
      upstream: { ...(isVerified && { email }), ...(name !== "" && { name }) },
    },
    email: isBelieved && email !== "" ? email : undefined,
    emailWithin: isVerified ? undefined : emailWithin,
    within: undefined,
    mayJoin: true,
    member: undefined,
    auth: { methods: credential === undefined ? [] : METHODS[credential], isLocal: true },
  };
}
