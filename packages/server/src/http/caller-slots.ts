/**
 * Limits the transfers of one caller that are under way at once: while content goes to a slow client, or comes from one, the request
 * holds no slot of the process. All anonymous callers count as one caller.
 */
import { createKeyedLimit, type KeyedLimit } from "../jobs/keyed-limit.ts";
import { resourceExhausted } from "../lib/errors.ts";

/** By the uid of the caller, or undefined for anonymous callers. */
export type CallerSlots = KeyedLimit<string | undefined>;

export function createCallerSlots(slotsPerCaller: number): CallerSlots {
  return createKeyedLimit(slotsPerCaller, (caller) => resourceExhausted(`${subjectOf(caller)} are at their limit; try again shortly`, 1));
}

function subjectOf(caller: string | undefined): string {
  return caller === undefined ? "requests without a token" : "requests of this identity";
}
