/**
 * Signed checkpoints: each names the number and the hash of an entry, and the entry that the chain begins after. The server's published
 * keys verify them.
 */
import { CompactSign, type CryptoKey, compactVerify, decodeProtectedHeader } from "jose";
import type { AuditChainTable } from "../../audit/tables.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { SIGNING_ALGORITHM, type SigningKeys } from "../../iam/tokens/signing-keys.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { hashOfNumber } from "./chain-entries.ts";

const CHECKPOINT_TYPE = "holt-audit-checkpoint+jws";

/** The payload of a checkpoint. */
export interface Checkpoint {
  readonly iss: string;
  /** Uid; empty for the chain of the server. */
  readonly organization: string;
  readonly number: number;
  readonly hash: string;
  readonly base_number: number;
  readonly base_hash: string;
  readonly time: string;
}

export interface CheckpointParts {
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly issuer: string;
  /** The least time between two checkpoints of a chain. */
  readonly intervalMs: number;
}

interface SignedCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly kid: string;
  readonly jws: string;
}

const CHAINS_PER_STEP = 50;
/** Older ones say nothing that a newer one does not. */
const KEPT_MS = 24 * 3_600_000;

/** Signs checkpoints of chains that have grown, or whose last checkpoint another key signed. */
export async function signCheckpoints(parts: CheckpointParts): Promise<void> {
  const { store, keys, clock, intervalMs } = parts;
  const { kid } = await keys.current();
  const shifted = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
  // A checkpoint that is far ahead was signed before the clock was corrected.
  const due = shifted(-intervalMs);
  const ahead = shifted(intervalMs);
  const chains = await store.reader
    .selectFrom("audit_chain")
    .selectAll()
    .where(({ eb, or, and, ref }) =>
      or([
        and([eb("checkpoint_number", "<", ref("number")), or([eb("checkpoint_time", "<=", due), eb("checkpoint_time", ">", ahead)])]),
        eb("checkpoint_kid", "<>", kid),
      ]),
    )
    .limit(CHAINS_PER_STEP)
    .execute();
  for (const chain of chains) await checkpointChain(chain, parts);
}

async function checkpointChain(chain: AuditChainTable, parts: CheckpointParts): Promise<void> {
  const { store, log } = parts;
  if (!(await isAsSigned(store.reader, chain)))
    return log.error({ organization: chain.org_uid }, "the audit chain differs from its last checkpoint; run holtd audit verify");
  const signed = await signCheckpoint({ ...chain }, parts);
  await store.transaction((db) => storeCheckpoint(db, signed));
}

/** Whether the entry that the last checkpoint names still has its hash: a new one must not confirm a chain that was rewritten. */
async function isAsSigned(db: ReadDb, { org_uid, checkpoint_number, base_number }: AuditChainTable): Promise<boolean> {
  if (Number(checkpoint_number) === 0) return true;
  const last = await lastCheckpoint(db, org_uid);
  if (last === undefined) return false;
  if (last.number <= Number(base_number)) return true;
  return (await hashOfNumber(db, org_uid, last.number)) === last.hash;
}

/** Not verified. */
async function lastCheckpoint(db: ReadDb, organization: string): Promise<Checkpoint | undefined> {
  const row = await lastJws(db, organization);
  return row === undefined ? undefined : payloadOf(row);
}

export async function lastJws(db: ReadDb, organization: string): Promise<string | undefined> {
  const query = db.selectFrom("audit_checkpoint").select("jws").where("org_uid", "=", organization);
  return (await query.orderBy("time", "desc").orderBy("number", "desc").limit(1).executeTakeFirst())?.jws;
}

export async function signCheckpoint(
  chain: Pick<AuditChainTable, "org_uid" | "number" | "hash" | "base_number" | "base_hash">,
  { keys, issuer, clock }: Pick<CheckpointParts, "keys" | "issuer" | "clock">,
): Promise<SignedCheckpoint> {
  const { kid, privateKey } = await keys.current();
  const checkpoint: Checkpoint = {
    iss: issuer,
    organization: chain.org_uid,
    number: Number(chain.number),
    hash: chain.hash,
    base_number: Number(chain.base_number),
    base_hash: chain.base_hash,
    time: clock.now().toISOString(),
  };
  const jws = await new CompactSign(new TextEncoder().encode(JSON.stringify(checkpoint)))
    .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid, typ: CHECKPOINT_TYPE })
    .sign(privateKey);
  return { checkpoint, kid, jws };
}

/**
 * Does nothing if entries at the beginning of the chain were deleted since the checkpoint was signed: it would say that they are missing.
 * Also deletes checkpoints of the chain that are old, or far ahead: those would stay the newest ones.
 */
export async function storeCheckpoint(db: WriteDb, { checkpoint, kid, jws }: SignedCheckpoint): Promise<void> {
  const { organization, number, time, base_number } = checkpoint;
  const chain = await db
    .updateTable("audit_chain")
    .set({ checkpoint_number: number, checkpoint_kid: kid, checkpoint_time: time })
    .where("org_uid", "=", organization)
    .where("base_number", "=", base_number)
    .executeTakeFirst();
  if (chain.numUpdatedRows === 0n) return;
  const [old, ahead] = [-KEPT_MS, KEPT_MS].map((ms) => new Date(Date.parse(time) + ms).toISOString()) as [string, string];
  await db
    .deleteFrom("audit_checkpoint")
    .where("org_uid", "=", organization)
    .where(({ eb, or }) => or([eb("time", "<", old), eb("time", ">", ahead)]))
    .execute();
  await db
    .insertInto("audit_checkpoint")
    .values({ org_uid: organization, number, time, kid, jws })
    .onConflict((conflict) => conflict.columns(["org_uid", "time", "number"]).doUpdateSet({ kid, jws }))
    .execute();
}

/** Stores the checkpoint that names a new beginning of the chain. One that was signed meanwhile would be newer, and name the former one. */
export async function storeNewBase(db: WriteDb, signed: SignedCheckpoint): Promise<void> {
  const { organization, time } = signed.checkpoint;
  await db.deleteFrom("audit_checkpoint").where("org_uid", "=", organization).where("time", ">=", time).execute();
  await storeCheckpoint(db, signed);
}

/** Not verified. Undefined for a text that is not a checkpoint. */
export function payloadOf(jws: string): Checkpoint | undefined {
  try {
    return JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString()) as Checkpoint;
  } catch {
    return undefined;
  }
}

/** Finds a published key; undefined if there is none with this id. */
export type FindKey = (kid: string) => Promise<CryptoKey | undefined>;

export type CheckpointVerdict = "valid" | "unknown key" | "invalid";

export async function verifyCheckpoint(jws: string, findKey: FindKey): Promise<{ verdict: CheckpointVerdict; checkpoint?: Checkpoint }> {
  const checkpoint = payloadOf(jws);
  try {
    const { kid = "", typ } = decodeProtectedHeader(jws);
    if (typ !== CHECKPOINT_TYPE || checkpoint === undefined) return { verdict: "invalid" };
    const key = await findKey(kid);
    if (key === undefined) return { verdict: "unknown key", checkpoint };
    await compactVerify(jws, key, { algorithms: [SIGNING_ALGORITHM] });
    return { verdict: "valid", checkpoint };
  } catch {
    return { verdict: "invalid" };
  }
}
