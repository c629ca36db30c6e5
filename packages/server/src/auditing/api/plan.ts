/** Decides by which condition a list walks the log, and which other conditions are worth reading. The entries decide about the rest. */
import type { ReadDb } from "../../db/store.ts";
import type { CandidateRange, ChainPart } from "./bounds.ts";
import { type Condition, type Posting, readPostings } from "./postings.ts";

export interface Plan {
  /** Undefined for a walk over all blocks. */
  readonly primary: Condition | undefined;
  readonly others: readonly Condition[];
}

/** Postings of each condition that are read to estimate how many there are. */
const SAMPLE = 4;
/** Digits and comma of an index. */
const LENGTH_PER_INDEX = 4;
/** Longer postings name most entries of a block. Comparing them costs more than the entries that they would exclude. */
const MAX_AVERAGE_LENGTH = 2000;

interface Sampled {
  readonly condition: Condition;
  /** Length of the postings, per block of the range. */
  readonly density: number;
  readonly averageLength: number;
}

export async function planConditions(db: ReadDb, conditions: readonly Condition[], range: CandidateRange, part: ChainPart): Promise<Plan> {
  if (conditions.length < 2) return { primary: conditions[0], others: [] };
  const sampled = await Promise.all(conditions.map((condition) => sample(db, condition, range, part)));
  const [first, ...rest] = sampled.toSorted((a, b) => a.density - b.density);
  const others = rest.filter(({ averageLength }) => averageLength <= MAX_AVERAGE_LENGTH).map(({ condition }) => condition);
  return { primary: first?.condition, others };
}

async function sample(
  db: ReadDb,
  condition: Condition,
  { organization, isDescending }: CandidateRange,
  { first: { id: low }, last: { id: high, count } }: ChainPart,
): Promise<Sampled> {
  // A target or a request has few entries.
  if (condition.terms.length === 0) return { condition, density: 0, averageLength: 0 };
  const { postings, horizon } = await readPostings(db, condition, organization, { low, high, isDescending }, SAMPLE);
  // The last block stands for all.
  const lengthOf = ({ entries }: Posting) => (entries === "*" ? count * LENGTH_PER_INDEX : entries.length);
  const length = postings.reduce((sum, posting) => sum + lengthOf(posting), 0);
  const blocks = horizon === undefined ? high - low + 1 : (isDescending ? high - horizon : horizon - low) + 1;
  return { condition, density: length / blocks, averageLength: length / Math.max(1, postings.length) };
}
