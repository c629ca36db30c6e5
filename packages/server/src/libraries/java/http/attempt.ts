/** What a path means, where it may mean nothing: who reads is not told of the layout. */
import { HoltError } from "../../../lib/errors.ts";

export function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof HoltError) return undefined;
    throw error;
  }
}
