/** Limits of organizations: reads them, and refuses rows beyond them. */
import { Code, HoltError } from "../lib/errors.ts";
import { isInRoot, rootOf } from "../lib/uid.ts";
import { type CountKind, countOf } from "./resource-count.ts";
import type { ReadDb, WriteDb } from "./store.ts";

export const LIMIT_NAMES = [
  "repositories",
  "identities",
  "subscriptions",
  "idps",
  "storage_mb",
  "calls_per_second",
  "calls_per_second_per_identity",
] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];
export type Limits = Readonly<Partial<Record<LimitName, number>>>;

/** The limits of numbers of rows. */
export const LIMITED_ROWS = {
  repo: "repositories",
  identity: "identities",
  subscription: "subscriptions",
  identity_provider: "idps",
} as const;
type LimitedTable = keyof typeof LIMITED_ROWS;

/** The retry delay for limits of rows and storage, whose usage falls only when something is deleted. */
const RETRY_AFTER_SECONDS = 60;

export async function readLimits(db: ReadDb, orgUid: string): Promise<Limits> {
  const rows = await db.selectFrom("organization_limit").select(["name", "value"]).where("org_uid", "=", orgUid).execute();
  return Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]));
}

/** Call it after the row is inserted and counted, in its transaction. @throws RESOURCE_EXHAUSTED */
export async function assertRowAllowed(db: WriteDb, table: CountKind, uid: string): Promise<void> {
  if (!isLimited(table) || isInRoot(uid)) return;
  const name = LIMITED_ROWS[table];
  const limit = await lockLimit(db, rootOf(uid), name);
  if (limit === undefined) return;
  const { below } = await countOf(db, table, rootOf(uid));
  if (below > limit) throw limitExceeded({ name, limit, usage: below - 1 });
}

/** Organizations with the limit add one after another, so that it holds. */
export async function lockLimit(db: WriteDb, orgUid: string, name: LimitName): Promise<number | undefined> {
  const query = db.selectFrom("organization_limit").select("value").where("org_uid", "=", orgUid).where("name", "=", name);
  const row = await db.dialect.forUpdate(query).executeTakeFirst();
  return row === undefined ? undefined : Number(row.value);
}

function isLimited(table: CountKind): table is LimitedTable {
  return Object.hasOwn(LIMITED_ROWS, table);
}

export interface Exceeded {
  readonly name: LimitName;
  readonly limit: number;
  readonly usage: number;
  readonly retryAfterSeconds?: number;
}

export function limitExceeded({ name, limit, usage, retryAfterSeconds = RETRY_AFTER_SECONDS }: Exceeded): HoltError {
  const text = `the organization's limit of ${name} is ${limit}, and it uses ${usage}`;
  const metadata = { resource: name, limit: String(limit), usage: String(usage) };
  return new HoltError(Code.RESOURCE_EXHAUSTED, `Resource exhausted: ${text}`, { metadata, retryAfterSeconds });
}
