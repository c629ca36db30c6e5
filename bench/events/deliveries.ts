/** Measures deliveries per second: each is a distinct signed event of 1 kB, posted to a local sink, with a durable record of its result. */
import { randomUUID } from "node:crypto";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import type { StoreName } from "../data/stores.ts";
import { cpuSeconds } from "../process.ts";
import { type Line, median, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type EventServer, type Sink, startEventServer, startSink } from "./servers.ts";

const SUBSCRIPTIONS = 20;
const BODY_BYTES = 1000;
/** The first round is the warm-up. */
const EVENTS_PER_ROUND = 10_000;
const ROWS_PER_STATEMENT = 500;
const MIN_PER_CORE = 1000;

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
  const figure = `${short(perCore)}/s per core, ${short(median(counted.map((round) => round.perSecond)))}/s in total`;
  const measured = `Signed deliveries of ${BODY_BYTES} bytes to ${SUBSCRIPTIONS} subscriptions`;
  return [{ measured, store, figure, target: `≥ ${MIN_PER_CORE}/s per core`, holds: perCore >= MIN_PER_CORE }];
}

async function measure({ target, pid, make, organization }: EventServer, sink: Sink, groups: readonly string[]) {
  await appendEvents(target, groups);
  await sink.reset();
  const cpuBefore = cpuSeconds(pid);
  const started = performance.now();
  // The server notices rows of other processes only when it appends an event itself.
  await make(`/iam/v2/groups/${organization}`, { name: "go" });
  const { bytes } = await sink.untilCount(EVENTS_PER_ROUND);
  if (bytes < EVENTS_PER_ROUND * BODY_BYTES) throw new Error(`bodies have only ${bytes / EVENTS_PER_ROUND} bytes`);
  return {
    perCore: EVENTS_PER_ROUND / (cpuSeconds(pid) - cpuBefore),
    perSecond: (EVENTS_PER_ROUND / (performance.now() - started)) * 1000,
  };
}

/** Inserts directly into the database, so that the cost of the writes is not measured. One transaction makes all events visible at once. */
async function appendEvents(target: EventServer["target"], groups: readonly string[]): Promise<void> {
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  const rows = Array.from({ length: EVENTS_PER_ROUND }, (_, i) => eventRow(groups[i % groups.length] ?? ""));
  await store.transaction(async (db) => {
    for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT)
      await db
        .insertInto("outbox")
        .values(rows.slice(start, start + ROWS_PER_STATEMENT))
        .execute();
  });
}

function eventRow(group: string) {
  const subject = newUid(group);
  const body = { uid: subject, name: "measured", description: "", create_time: new Date().toISOString() };
  const paddingBytes = BODY_BYTES - JSON.stringify({ body }).length;
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
    data: JSON.stringify({ body: { ...body, description: "x".repeat(paddingBytes) } }),
  };
}
