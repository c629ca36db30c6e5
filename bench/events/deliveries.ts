/** How many deliveries one server makes: each an event of 1 kB of its own, signed, posted to a sink on this machine, and its outcome made durable. */
import { randomUUID } from "node:crypto";
import { openStore } from "../../packages/server/src/db/open.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import type { StoreName } from "../data/stores.ts";
import { cpuSeconds } from "../process.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type EventServer, type Sink, startEventServer, startSink } from "./servers.ts";

const SUBSCRIPTIONS = 20;
const BODY_BYTES = 1000;
/** Of a round; the first one is for warming up. */
const EVENTS = 10_000;
const ROWS = 500;
const WANTED = 1000;

export async function deliveries(store: StoreName): Promise<Line[]> {
  await using sink = await startSink();
  await using holt = await startEventServer(store, "deliveries");
  const groups: string[] = [];
  for (let i = 0; i < SUBSCRIPTIONS; i++) {
    const group = await holt.make(`/iam/v2/groups/${holt.organization}`, { name: `group-${i}` });
    await holt.make(`/events/v2/subscriptions/${group}`, { sink: `${sink.url}/${i}` });
    groups.push(group);
  }
  await sink.untilQuiet();
  const rounds = [];
  for (let round = 0; round <= scale.rounds; round++) rounds.push(await measure(holt, sink, groups));
  const [, ...counted] = rounds;
  const perCore = median(counted.map((round) => round.perCore));
  const figure = `${short(perCore)}/s for each core, ${short(median(counted.map((round) => round.perSecond)))}/s in all`;
  const what = `Deliveries of ${BODY_BYTES} bytes to ${SUBSCRIPTIONS} subscriptions, each signed`;
  return [{ what, store, figure, target: `≥ ${WANTED}/s for each core`, holds: perCore >= WANTED }];
}

async function measure({ target, pid, make, organization }: EventServer, sink: Sink, groups: readonly string[]) {
  await appendEvents(target, groups);
  await sink.forget();
  const [cpu, begin] = [cpuSeconds(pid), performance.now()];
  // The server hears of what others have appended when it appends something itself.
  await make(`/iam/v2/groups/${organization}`, { name: "go" });
  const { bytes } = await sink.untilCount(EVENTS);
  if (bytes < EVENTS * BODY_BYTES) throw new Error(`the bodies have ${bytes / EVENTS} bytes`);
  return { perCore: EVENTS / (cpuSeconds(pid) - cpu), perSecond: (EVENTS / (performance.now() - begin)) * 1000 };
}

/** Past the server, so that what the writes cost is not measured. In one transaction, so that it finds all or nothing. */
async function appendEvents(target: EventServer["target"], groups: readonly string[]): Promise<void> {
  await using store = await openStore({ ...target, log: createLog("warn") });
  const rows = Array.from({ length: EVENTS }, (_, i) => eventRow(groups[i % groups.length] ?? ""));
  await store.transaction(async (db) => {
    for (let start = 0; start < rows.length; start += ROWS)
      await db
        .insertInto("outbox")
        .values(rows.slice(start, start + ROWS))
        .execute();
  });
}

function eventRow(group: string) {
  const subject = newUid(group);
  const body = { uid: subject, name: "measured", description: "", create_time: new Date().toISOString() };
  const missing = BODY_BYTES - JSON.stringify({ body }).length;
  return {
    id: randomUUID(),
    type: "dev.holt.api.iam.identity.created.v1",
    source: "http://127.0.0.1/iam/v2/identities",
    subject,
    group_uid: group,
    time: new Date().toISOString(),
    audience: "customer" as const,
    body_type: "platform.iam.v2.Identity",
    extensions: "{}",
    data: JSON.stringify({ body: { ...body, description: "x".repeat(missing) } }),
  };
}
