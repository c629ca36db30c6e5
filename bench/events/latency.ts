/** How long an event takes from the call that makes it to its sinks, with dead ones among them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { startEventServer, startSink } from "./servers.ts";

const HEALTHY = 100;
const DEAD = 10;
/** Between two events, of which each goes to all subscriptions. */
const INTERVAL_MS = 500;
const WANTED_MS = 1000;

export async function deliveryLatency(store: StoreName): Promise<Line[]> {
  await using sink = await startSink();
  await using holt = await startEventServer(store, "latency");
  const group = await holt.make(`/iam/v2/groups/${holt.organization}`, { name: "watched" });
  for (let i = 0; i < DEAD; i++) await holt.make(`/events/v2/subscriptions/${group}`, { sink: `${sink.url}/dead/${i}` });
  for (let i = 0; i < HEALTHY; i++) await holt.make(`/events/v2/subscriptions/${group}`, { sink: `${sink.url}/${i}` });
  // They are told of themselves and of each other.
  await sink.untilQuiet();
  await sink.forget();
  const events = Math.ceil((scale.rounds * scale.durationMs) / INTERVAL_MS);
  for (let i = 0; i < events; i++) {
    await holt.make(`/iam/v2/groups/${group}`, { name: `made-${i}` });
    await sleep(INTERVAL_MS);
  }
  const delays = (await sink.untilCount(events * HEALTHY)).delays.toSorted((a, b) => a - b);
  const at = (share: number) => delays[Math.min(Math.floor(delays.length * share), delays.length - 1)] ?? Number.NaN;
  const figure = `p50 ${short(at(0.5))} ms, p95 ${short(at(0.95))} ms, p99 ${short(at(0.99))} ms of ${delays.length}`;
  const what = `From the event to its arrival, ${HEALTHY} healthy subscriptions and ${DEAD} dead ones`;
  return [{ what, store, figure, target: `p95 ≤ ${WANTED_MS} ms`, holds: at(0.95) <= WANTED_MS }];
}
