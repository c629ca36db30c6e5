/** Measures the time from a call to the arrival of its event at the sinks, while other sinks never respond. */
import { setTimeout as sleep } from "node:timers/promises";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { startEventServer, startSink } from "./servers.ts";

const HEALTHY = 100;
const DEAD = 10;
/** Time between two events; each event goes to all subscriptions. */
const INTERVAL_MS = 500;
const MAX_P95_MS = 1000;

export async function deliveryLatency(store: StoreName): Promise<Line[]> {
  await using sink = await startSink();
  await using holt = await startEventServer(store, "latency");
  const group = await holt.make(`/iam/v2/groups/${holt.organization}`, { name: "watched" });
  for (let i = 0; i < DEAD; i++) await holt.make(`/events/v2/subscriptions/${group}`, { sink: `${sink.url}/dead/${i}` });
  for (let i = 0; i < HEALTHY; i++) await holt.make(`/events/v2/subscriptions/${group}`, { sink: `${sink.url}/${i}` });
  // The creation of each subscription is an event, too.
  await sink.untilQuiet();
  await sink.reset();
  const events = Math.ceil((scale.rounds * scale.round.durationMs) / INTERVAL_MS);
  for (let i = 0; i < events; i++) {
    await holt.make(`/iam/v2/groups/${group}`, { name: `made-${i}` });
    await sleep(INTERVAL_MS);
  }
  const delays = (await sink.untilCount(events * HEALTHY)).delays.toSorted((a, b) => a - b);
  const at = (quantile: number) => delays[Math.min(Math.floor(delays.length * quantile), delays.length - 1)] ?? Number.NaN;
  const figure = `p50 ${short(at(0.5))} ms, p95 ${short(at(0.95))} ms, p99 ${short(at(0.99))} ms of ${delays.length} deliveries`;
  const measured = `Delivery latency, ${HEALTHY} healthy and ${DEAD} dead subscriptions`;
  return [{ measured, store, figure, target: `p95 ≤ ${MAX_P95_MS} ms`, holds: at(0.95) <= MAX_P95_MS }];
}
