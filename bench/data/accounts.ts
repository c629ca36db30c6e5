/** Fills databases with local accounts that have a passkey each, all with the same key. */
import { createHash, generateKeyPairSync, type JsonWebKey } from "node:crypto";
import { encodeIdentity } from "../../packages/server/src/iam/identities/identity-record.ts";
import { newUserIdentity } from "../../packages/server/src/iam/identities/user-identity.ts";
import { bootstrapDatabase, insertAll, openSink, type Target } from "./fill.ts";
import type { Row } from "./rows.ts";
import { type Filled, openDataset, type StoreName } from "./stores.ts";

export const ACCOUNTS_URL = "http://localhost:8080";

export interface AccountContents {
  readonly accounts: number;
  /** The private key of all passkeys, for ES256. */
  readonly key: JsonWebKey;
}

export function openAccounts(name: StoreName, accounts: number): Promise<Filled<AccountContents>> {
  return openDataset(name, {
    key: `accounts_${accounts}`,
    sources: ["bench/data/accounts.ts"],
    fill: (target) => fillAccounts(target, accounts),
  });
}

export const credentialOf = (account: number): string => Buffer.from(`credential ${account}`).toString("base64url");
export const userHandleOf = (account: number): string => Buffer.from(`account ${account}`).toString("base64url");

async function fillAccounts(target: Target, accounts: number): Promise<AccountContents> {
  await bootstrapDatabase(target);
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ format: "jwk" });
  const publicKey = coseKey(key);
  const numbers = () => Array.from({ length: accounts }).keys();
  const sink = await openSink(target);
  await insertAll(sink, "identity", rowsOf(numbers(), identityRow));
  await insertAll(sink, "local_account", rowsOf(numbers(), accountRow));
  await insertAll(
    sink,
    "passkey",
    rowsOf(numbers(), (account) => passkeyRow(account, publicKey)),
  );
  await sink.finish();
  return { accounts, key };
}

function* rowsOf(numbers: Iterable<number>, rowOf: (account: number) => Row): Iterable<Row> {
  for (const account of numbers) yield rowOf(account);
}

const TIME = "2026-01-01T00:00:00.000Z";
const subjectOf = (account: number) => `account-${account}`;

function identityOf(account: number) {
  const profile = { actor: {}, email: undefined, emailVerified: false, upstream: {} };
  return newUserIdentity(ACCOUNTS_URL, subjectOf(account), profile, new Date(TIME));
}

function identityRow(account: number): Row {
  const identity = identityOf(account);
  const { uid, name } = identity;
  const times = { create_time: TIME, update_time: TIME };
  return { uid, parent: null, name, ...times, relationship_type: 1, body: encodeIdentity(identity) };
}

function accountRow(account: number): Row {
  const email = `person-${account}@example.com`;
  const texts = { subject: subjectOf(account), user_handle: userHandleOf(account), email, email_key: email, name: `Person ${account}` };
  return { identity_uid: identityOf(account).uid, ...texts, create_time: TIME, update_time: TIME };
}

function passkeyRow(account: number, publicKey: string): Row {
  const keys = { credential_id: credentialOf(account), uid: hashOf(`passkey ${account}`), identity_uid: identityOf(account).uid };
  return { ...keys, public_key: publicKey, sign_count: 0, transports: "[]", name: "Phone", create_time: TIME };
}

/** COSE (RFC 9053) of a public key on P-256. */
function coseKey({ x = "", y = "" }: JsonWebKey): string {
  const part = (label: number, value: string) => Buffer.concat([Buffer.from([label, 0x58, 0x20]), Buffer.from(value, "base64url")]);
  return Buffer.concat([Buffer.from("a5010203262001", "hex"), part(0x21, x), part(0x22, y)]).toString("base64url");
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 40);
}
