/** Reads how long a command waits for each answer of the server. */
import { usageFailure } from "../failure.ts";
import { parseDuration } from "../output/human.ts";
import type { OptionValue } from "./invocation.ts";

const DEFAULT_MS = 60_000;
/** Node's timers hold 24.8 days. They end at once for a longer time. */
const MAX_MS = 2 ** 31 - 1;

/** @param text the value of --timeout. @returns whole milliseconds. @throws Failure if it is not a duration, or 0 */
export function timeoutFrom(text: OptionValue): number {
  if (typeof text !== "string") return DEFAULT_MS;
  const seconds = parseDuration(text);
  if (!seconds) throw usageFailure(`--timeout: "${text}" must be a duration such as 30s or 5m`);
  return Math.min(Math.ceil(seconds * 1000), MAX_MS);
}
