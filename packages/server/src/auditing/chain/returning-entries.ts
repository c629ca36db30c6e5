/**
 * Decides which entries of an organization are new to a server that had the organization before, and still has its chain. That chain goes
 * on: it keeps its numbers, hashes and checkpoints, and the new entries follow its end.
 */
import type { ReadDb } from "../../db/store.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import type { ChainEntry } from "./block.ts";
import { readChainEntries } from "./chain-entries.ts";

const ENTRIES_PER_READ = 500;

/** An entry of an export: its number in the chain of the other server, and its content. */
export interface CarriedEntry {
  readonly seq: number;
  readonly content: string;
}

/**
 * Call the result with the entries in the order of the other chain. Both chains begin with the same entries; they differ from the first one
 * that was written after the organization had left.
 * @returns undefined if the server has no chain of the organization
 */
export async function createEntryFilter(
  db: ReadDb,
  organization: string,
): Promise<((entry: CarriedEntry) => Promise<boolean>) | undefined> {
  const query = db.selectFrom("audit_chain").select("base_number").where("org_uid", "=", organization);
  const chain = await query.executeTakeFirst();
  if (chain === undefined) return undefined;
  const base = Number(chain.base_number);
  const local = readSealed(db, organization, base);
  let next = await local.next();
  /** The rest of this chain, once it differs from the other one. The other one may have that too, if it has been here before. */
  let known: Set<string> | undefined;
  return async ({ seq, content }) => {
    if (known === undefined) {
      // Retention has deleted the entry here.
      if (seq <= base) return false;
      while (!next.done && next.value.number < seq) next = await local.next();
      if (!next.done && next.value.number === seq && next.value.content === content) return false;
      known = new Set();
      for (; !next.done; next = await local.next()) known.add(sha256Hex(next.value.content ?? ""));
    }
    return !known.has(sha256Hex(content));
  };
}

async function* readSealed(db: ReadDb, organization: string, base: number): AsyncGenerator<ChainEntry, void> {
  for (let after = base; ; ) {
    const { entries, hasMore } = await readChainEntries(db, organization, after, ENTRIES_PER_READ);
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || !hasMore) return;
    after = last.number;
  }
}
