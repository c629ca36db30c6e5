/** Decides by which condition a list walks the log: by the rarest, as far as the first postings tell. */
import type { ReadDb } from "../../db/store.ts";
import { estimateEntries } from "../chain/posting-text.ts";
import { type BlockRange, type Condition, type FoundPostings, type Posting, postingsOfTerm } from "./postings.ts";

/** A condition with the first postings of its term. A walk begins with them, so that they are read once. */
export interface Sampled {
  readonly condition: Condition;
  readonly sample: FoundPostings;
}

export interface Plan {
  /** Undefined for a walk over all blocks. */
  readonly primary: Sampled | undefined;
  readonly others: readonly Condition[];
}

/** @param limit postings of a sample */
export async function planConditions(
  chain: { readonly db: ReadDb; readonly organization: string },
  conditions: readonly Condition[],
  range: BlockRange,
  limit: number,
): Promise<Plan> {
  const sampled = await Promise.all(
    conditions.map(async (condition) => ({ condition, sample: await postingsOfTerm(chain, { condition, range, limit }) })),
  );
  const [primary, ...others] = sampled.toSorted((a, b) => densityOf(a.sample, range) - densityOf(b.sample, range));
  return { primary, others: others.map(({ condition }) => condition) };
}

/** Entries per block. A target or a request has no sample, and usually few entries. */
function densityOf({ postings, horizon }: FoundPostings, { low, high }: BlockRange): number {
  const begin = postings.at(0)?.block ?? 0;
  const blocks = horizon === undefined ? high - low + 1 : Math.abs(begin - horizon) + 1;
  return postings.reduce((sum, posting) => sum + sizeOf(posting), 0) / blocks;
}

function sizeOf({ entries, head }: Posting): number {
  return typeof entries === "string" ? estimateEntries(entries, head?.count ?? 0) : entries.length;
}
