/**
 * Seals entries: a job reads those that are new, computes the hashes of their chains, and writes one block per chain. Entries are not
 * touched, so a write costs one row. One server at a time seals, by its `SealingTurn`.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { CompiledQuery, sql } from "kysely";
import { type EntryHead, parseHead } from "../../audit/audit-entry.ts";
import type { AuditChainTable, AuditPostingTable } from "../../audit/tables.ts";
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { BlockBuilder } from "./block-builder.ts";
import { type NewEntry, type Progress, readNewEntries } from "./new-entries.ts";

/** Reading and hashing this number takes about 20 ms, and the transaction less. */
const ENTRIES_PER_RUN = 2000;
/** The event loop is free between two slices. */
const ENTRIES_PER_SLICE = 250;
const ROWS_PER_STATEMENT = 250;

const BLOCKS_PER_SLICE = 50;

const NAME = "audit_sealing";

export interface SealState extends Progress {
  /** Id of the last block. */
  readonly block: number;
}

const FIRST: SealState = { seq: 0, gaps: [], block: 0 };

type Head = Pick<AuditChainTable, "org_uid" | "number" | "hash">;

/**
 * Lets one of several servers seal. The server that sealed last goes on. Another server begins once the state has not changed between
 * two of its looks. If two servers sealed, both would hash the same entries, and one would wait for the transaction of the other.
 */
export class SealingTurn {
  /** The state that this server has seen or stored last. */
  #known: SealState | undefined;

  /** Whether this server may seal: no other one has since this server looked last. */
  begins(state: SealState): boolean {
    const isMine = this.#known === undefined || isDeepStrictEqual(this.#known, state);
    this.#known = state;
    return isMine;
  }

  ends(state: SealState): void {
    this.#known = state;
  }
}

/**
 * Seals one run of entries.
 * @param turn of this server; without it, entries are sealed even while another server seals
 * @returns whether there may be more
 */
export async function seal(store: Store, clock: Clock, turn = new SealingTurn()): Promise<boolean> {
  const state = await readSealState(store.reader);
  if (!turn.begins(state)) return false;
  const { entries, progress, hasMore } = await readNewEntries(store.reader, state, { limit: ENTRIES_PER_RUN, now: clock.now() });
  if (entries.length === 0 && isDeepStrictEqual(progress.gaps, state.gaps)) return false;
  const blocks = await buildBlocks(store.reader, entries, state.block);
  const next = { ...progress, block: state.block + blocks.length };
  const isSealed = await store.transaction(async (db) => {
    // Another server has sealed meanwhile.
    if (!isDeepStrictEqual(await lockState<SealState>(db, NAME, FIRST), state)) return false;
    await insertBlocks(db, blocks);
    await storeHeads(
      db,
      blocks.map(({ head }) => head),
    );
    await writeState<SealState>(db, NAME, next);
    return true;
  });
  if (!isSealed) return true;
  turn.ends(next);
  return hasMore;
}

export async function readSealState(db: ReadDb): Promise<SealState> {
  const value = await readState(db, NAME);
  return value === undefined ? FIRST : (JSON.parse(value) as SealState);
}

async function buildBlocks(db: ReadDb, entries: readonly NewEntry[], lastBlock: number): Promise<BlockBuilder[]> {
  const heads = new Array<EntryHead>(entries.length);
  for (const [index, { content }] of entries.entries()) {
    if (index % ENTRIES_PER_SLICE === 0) await nextTurn();
    heads[index] = headOf(content);
  }
  const chains = await readChains(db, heads);
  const builders = new Map<string, BlockBuilder>();
  for (const [index, entry] of entries.entries()) {
    if (index % ENTRIES_PER_SLICE === 0) await nextTurn();
    const head = heads[index] as EntryHead;
    const chain = chains.get(head.organization) ?? (chains.get("") as Head);
    let builder = builders.get(chain.org_uid);
    if (builder === undefined) {
      builder = new BlockBuilder(lastBlock + builders.size + 1, chain);
      builders.set(chain.org_uid, builder);
    }
    builder.add(entry, head);
  }
  return [...builders.values()];
}

/** A row that somebody has damaged before it was sealed is sealed in the chain of the server. */
function headOf(content: string): EntryHead {
  try {
    return parseHead(content);
  } catch {
    return { time: "", organization: "", actor: "", action: "", target: "", outcome: "", remote_address: "", request_id: "" };
  }
}

/** The ends of the chains that the entries belong to. A root that is not an organization has no chain. */
async function readChains(db: ReadDb, heads: readonly EntryHead[]): Promise<Map<string, Head>> {
  const roots = [...new Set(["", ...heads.map(({ organization }) => organization)])];
  const among = (column: string) => sql<boolean>`${sql.ref(column)} in (select v.value from ${db.dialect.valuesOf(roots)} as v)`;
  const chains = await db.selectFrom("audit_chain").select(["org_uid", "number", "hash"]).where(among("org_uid")).execute();
  const groups = await db.selectFrom("group").select("uid").where(among("uid")).execute();
  const found = new Map<string, Head>(["", ...groups.map(({ uid }) => uid)].map((uid) => [uid, { org_uid: uid, number: 0, hash: "" }]));
  // The chain of a deleted organization goes on.
  for (const chain of chains) found.set(chain.org_uid, { ...chain, number: Number(chain.number) });
  return found;
}

async function insertBlocks(db: WriteDb, blocks: readonly BlockBuilder[]): Promise<void> {
  const at = (number: number) => db.dialect.placeholder(number);
  const insert = `insert into audit_block (id, org_uid, first_number, count, last_time, targets, seqs, hashes, times, requests)
    values (${[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(at).join(", ")})`;
  for (const [index, block] of blocks.entries()) {
    if (index % BLOCKS_PER_SLICE === 0) await nextTurn();
    const { id, org_uid, first_number, count, last_time, targets, seqs, hashes, times, requests } = block.row();
    const values = [id, org_uid, first_number, count, last_time, targets, seqs, hashes, times, requests];
    await db.getExecutor().executeQuery(CompiledQuery.raw(insert, values));
  }
  const postings: AuditPostingTable[] = [];
  for (const [index, block] of blocks.entries()) {
    if (index % BLOCKS_PER_SLICE === 0) await nextTurn();
    postings.push(...block.postings());
  }
  postings.sort((a, b) => a.term - b.term);
  for (let start = 0; start < postings.length; start += ROWS_PER_STATEMENT) {
    // On SQLite a statement cannot be interrupted.
    await nextTurn();
    const rows = db.dialect.rowsOf(postings.slice(start, start + ROWS_PER_STATEMENT), { term: "bigint", block: "bigint", entries: "text" });
    await sql`insert into audit_posting (term, block, entries) select r.term, r.block, r.entries from ${rows} as r`.execute(db);
  }
}

async function storeHeads(db: WriteDb, heads: readonly Head[]): Promise<void> {
  const rows = db.dialect.rowsOf(heads, { org_uid: "text", number: "bigint", hash: "text" });
  // Without a condition, SQLite would read "on conflict" as the end of a join.
  await sql`insert into audit_chain
    (org_uid, number, hash, base_number, base_hash, checkpoint_number, checkpoint_kid, checkpoint_time)
    select r.org_uid, r.number, r.hash, 0, '', 0, '', '' from ${rows} as r where 1 = 1
    on conflict (org_uid) do update set number = excluded.number, hash = excluded.hash`.execute(db);
}
