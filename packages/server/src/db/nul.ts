/** Refuses NUL in texts, for both stores. */
import { invalidArgument } from "../lib/errors.ts";

/** PostgreSQL stores no NUL in a text. SQLite would, and the stores give the same answers. @throws INVALID_ARGUMENT */
export function assertNoNul(parameters: readonly unknown[]): void {
  for (const value of parameters) {
    if (typeof value === "string" && value.includes("\0")) throw invalidArgument("", "text must not contain NUL");
    if (Array.isArray(value)) assertNoNul(value);
  }
}

/** A list that is one parameter, as JSON. Its texts follow the same rule as parameters. @throws INVALID_ARGUMENT */
export function jsonWithoutNul(list: readonly unknown[]): string {
  const json = JSON.stringify(list);
  // The escape may also follow an escaped backslash, so the texts decide.
  if (json.includes("\\u0000"))
    for (const element of list) assertNoNul(typeof element === "object" ? Object.values(element ?? {}) : [element]);
  return json;
}
