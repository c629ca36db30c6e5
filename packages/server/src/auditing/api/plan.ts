/** Decides by which condition a list walks the log: by the rarest, as far as the first postings tell. */
import type { ReadDb } from "../../db/store.ts";
import { estimateEntries } from "../chain/posting-text.ts";
import type { CandidateRange, ChainPart } from "./bounds.ts";
import { type Condition, readPostings } from "./postings.ts";

export interface Plan {
  /** Undefined for a walk over all blocks. */
  readonly primary: Condition | undefined;
  readonly others: readonly Condition[];
}

/** Postings of each condition that are read to estimate how many there are. */
const SAMPLE = 4;

export async function planConditions(db: ReadDb, conditions: readonly Condition[], range: CandidateRange, part: ChainPart): Promise<Plan> {
  if (conditions.length < 2) return { primary: conditions[0], others: [] };
  const estimated = await Promise.all(
    conditions.map(async (condition) => ({ condition, density: await estimateDensity(db, condition, range, part) })),
  );
  const [primary, ...others] = estimated.toSorted((a, b) => a.density - b.density).map(({ condition }) => condition);
  return { primary, others };
}

/** Entries per block. */
async function estimateDensity(
  db: ReadDb,
  condition: Condition,
  { organization, isDescending }: CandidateRange,
  { first: { id: low }, last: { id: high, count } }: ChainPart,
): Promise<number> {
  // A target or a request usually has few entries.
  if (condition.terms.length === 0) return 0;
  const { postings, horizon } = await readPostings(db, condition, organization, { low, high, isDescending }, SAMPLE);
  // The last block stands for all.
  const sizes = postings.map(({ entries }) => (typeof entries === "string" ? estimateEntries(entries, count) : entries.length));
  const blocks = horizon === undefined ? high - low + 1 : (isDescending ? high - horizon : horizon - low) + 1;
  return sizes.reduce((sum, size) => sum + size, 0) / blocks;
}
