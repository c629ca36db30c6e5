/** A finding of `holtd doctor`. */
export interface Problem {
  /** Subject of the check: `clock`, `disk` … */
  readonly check: string;
  /** The fault, without a period. */
  readonly problem: string;
  /** The remedy, as an instruction without a period. */
  readonly remedy: string;
}

/** The problems whose condition holds. */
export function problemsOf(check: string, found: readonly (readonly [boolean, string, string])[]): Problem[] {
  return found.flatMap(([holds, problem, remedy]) => (holds ? [{ check, problem, remedy }] : []));
}
