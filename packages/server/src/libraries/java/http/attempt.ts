/** Parses a path that a client reads. A path outside the layout is simply not found; only publishers get the error. */
import { HoltError } from "../../../lib/errors.ts";

export function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof HoltError) return undefined;
    throw error;
  }
}
