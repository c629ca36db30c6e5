/** Rules for values that many resources have: names and descriptions. */
import { type FieldViolation, invalidArgument, invalidArguments } from "../../lib/errors.ts";

const NAME = /^[a-z0-9 ._-]{1,}$/;
const MAX_NAME = 255;
const MAX_DESCRIPTION = 4096;

/** The first stage of a resource's validation; its violation is reported alone. */
export function assertName(name: string): void {
  if (!NAME.test(name)) throw invalidArgument("name", 'name must match "^[a-z0-9 ._-]{1,}$"');
  if (name.length > MAX_NAME) throw invalidArgument("name", `name must have at most ${MAX_NAME} characters`);
}

/** Throws all violations of a stage at once. */
export function assertNone(violations: readonly FieldViolation[]): void {
  if (violations.length > 0) throw invalidArguments(violations);
}

export function descriptionViolations(description: string): FieldViolation[] {
  return [...description].length > MAX_DESCRIPTION
    ? [{ field: "description", description: `description must have at most ${MAX_DESCRIPTION} characters` }]
    : [];
}
