/** Reads the entries that an organization takes along to another server. */
import { parseHead } from "../../audit/audit-entry.ts";
import type { ReadDb } from "../../db/store.ts";
import { readChainEntries } from "./chain-entries.ts";
import { readNewEntries } from "./new-entries.ts";
import type { CarriedEntry } from "./returning-entries.ts";
import { readSealState } from "./seal.ts";

const ENTRIES_PER_READ = 500;

/**
 * In the order of the chain: those that are sealed, then those that are not yet.
 * @param db a snapshot
 */
export async function* readCarriedEntries(db: ReadDb, organization: string): AsyncIterable<CarriedEntry> {
  let last = 0;
  for (let after = 0, isLast = false; !isLast; ) {
    const { entries, hasMore } = await readChainEntries(db, organization, after, ENTRIES_PER_READ);
    for (const { number, content } of entries) {
      if (content === undefined) throw new Error(`entry ${number} of the audit log is missing: run holtd audit verify ${organization}`);
      last = number;
      yield { seq: number, content };
    }
    after = entries.at(-1)?.number ?? after;
    isLast = !hasMore;
  }
  for (let progress = await readSealState(db), isLast = false; !isLast; ) {
    const found = await readNewEntries(db, progress, { limit: ENTRIES_PER_READ, now: new Date() });
    for (const { content } of found.entries) if (parseHead(content).organization === organization) yield { seq: ++last, content };
    isLast = found.progress.seq === progress.seq;
    progress = { ...progress, ...found.progress };
  }
}
