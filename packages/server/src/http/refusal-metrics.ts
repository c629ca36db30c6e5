/** Counts refusals by the limits of this server. */
import type { Counter, Meter } from "../lib/meter.ts";

const LIMITS = ["concurrent-calls", "connections-per-address", "connections-per-caller", "stream-memory", "transfers-per-caller"] as const;

/** A counter with the label `limit`. */
export function createRefusalCounter(meter: Meter): (limit: (typeof LIMITS)[number]) => void {
  const refusals: Counter = meter.counter({
    name: "holt_refusals_total",
    help: "Calls, requests and connections that a limit of this server refused.",
    labels: { limit: new Set(LIMITS) },
  });
  return (limit) => refusals.add(1, limit);
}
