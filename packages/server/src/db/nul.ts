/** Refuses NUL in texts, for both stores. */
import { invalidArgument } from "../lib/errors.ts";

/** PostgreSQL stores no NUL in a text. SQLite would, and the stores give the same answers. @throws INVALID_ARGUMENT */
export function assertNoNul(parameters: readonly unknown[]): void {
  for (const value of parameters) {
    if (typeof value === "string" && value.includes("\0")) throw invalidArgument("", "text must not contain NUL");
    if (Array.isArray(value)) assertNoNul(value);
  }
}
