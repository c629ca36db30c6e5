/** The context of a format's reader: the current time, and a callback for problems. */
import { BadRecord } from "./record.ts";

export interface ReadContext {
  /** Unix milliseconds. */
  readonly now: number;
  /** Reports a part of the document that is skipped. */
  readonly report: (problem: BadRecord) => void;
}

/** Reads each element. Elements that throw a BadRecord are reported and skipped. */
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
