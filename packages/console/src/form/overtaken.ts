/** Compares what a person typed with what others have stored since the form was opened. */

export interface Overtaken {
  /** Name of the value. */
  readonly name: string;
  readonly stored: unknown;
}

export interface Rebased<Values> {
  /** The input where the person changed a value, otherwise the stored value. */
  readonly values: Values;
  /** Values that the person and somebody else have changed differently. */
  readonly overtaken: readonly Overtaken[];
}

export interface RebaseInput<Values> {
  /** The stored values when the form was opened. */
  readonly saved: Values;
  readonly values: Values;
  readonly stored: Values;
}

export function changedNames<Values extends Readonly<Record<string, unknown>>>(before: Values, after: Values): (keyof Values & string)[] {
  return Object.keys(before).filter((name) => after[name] !== before[name]);
}

export function rebase<Values extends Readonly<Record<string, unknown>>>({ saved, values, stored }: RebaseInput<Values>): Rebased<Values> {
  const changed = changedNames(saved, values);
  const overtaken = changed.filter((name) => !isSame(stored[name], saved[name]) && !isSame(stored[name], values[name]));
  const own = Object.fromEntries(changed.map((name) => [name, values[name]]));
  return { values: { ...stored, ...own }, overtaken: overtaken.map((name) => ({ name, stored: stored[name] })) };
}

/** Lists are read anew, so their elements are compared. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || (Array.isArray(one) && Array.isArray(other) && JSON.stringify(one) === JSON.stringify(other));
}
