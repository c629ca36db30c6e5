/** Reads an option that may be given several times, each time with one of its choices. */
import { usageFailure } from "../failure.ts";

/** @param name of the option. @throws Failure for the first value that is not a choice */
export function chosen(name: string, given: readonly string[], choices: readonly string[]): readonly string[] {
  const unknown = given.find((value) => !choices.includes(value));
  if (unknown !== undefined) throw usageFailure(`--${name}: "${unknown}" must be one of ${choices.join(", ")}`);
  return given;
}
