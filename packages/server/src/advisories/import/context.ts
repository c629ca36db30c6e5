/** What readers of formats are given beside a document. */
import { BadRecord } from "./record.ts";

export interface ReadContext {
  /** Unix milliseconds. */
  readonly now: number;
  /** For a part that is left out while the rest is taken. */
  readonly report: (problem: BadRecord) => void;
}

/** What `read` makes of each; those that are bad are reported and left out. */
export function readEach<T, R>(list: Iterable<T>, { report }: ReadContext, read: (element: T) => R): R[] {
  const results: R[] = [];
  for (const element of list) {
    try {
      results.push(read(element));
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      report(error);
    }
  }
  return results;
}
