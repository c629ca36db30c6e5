/** Limits the work of a trial. */

/** For all patterns together, about that of 25 token exchanges. */
const MAX_WORK = 50_000_000;
/** Identities whose stored keys are tried; each may have a large key set. */
const MAX_KEY_SETS = 50;

/** The work that is left. */
export interface TrialBudget {
  work: number;
  keySets: number;
  /** Whether some identity was skipped because the budget was spent. */
  isExhausted: boolean;
}

export function createTrialBudget(): TrialBudget {
  return { work: MAX_WORK, keySets: MAX_KEY_SETS, isExhausted: false };
}
