/** A finding of `holtd doctor`. */
export interface Problem {
  /** What was checked: `clock`, `disk` … */
  readonly check: string;
  /** What is wrong, without a period. */
  readonly problem: string;
  /** What to do, as an instruction without a period. */
  readonly remedy: string;
}

/** The problems whose condition holds. */
export function problemsOf(check: string, found: readonly (readonly [boolean, string, string])[]): Problem[] {
  return found.flatMap(([holds, problem, remedy]) => (holds ? [{ check, problem, remedy }] : []));
}
