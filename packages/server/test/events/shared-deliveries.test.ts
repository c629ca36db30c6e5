/** Servers that share a database send to about as many subscriptions each. The clock stands still, so that no queue waits for long. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import pg from "pg";
import { countServers, SERVER_SESSION } from "../../src/db/servers.ts";
import { subscribe as insertSubscription } from "../harness/events/queue-store.ts";
import { startServer, type TestServer } from "../harness/harness.ts";
import { createManualClock, type ManualClock } from "../harness/manual-clock.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { never, until } from "../harness/wait.ts";
import { accept, afterMs, silence, startWebhookReceiver } from "../harness/webhook-receiver.ts";

const SUBSCRIPTIONS = 12;
/** A sink that does not answer keeps its queue with the server that claimed it. */
const settings = { HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", HOLT_WEBHOOK_TIMEOUT: "1h" };

async function startFirst(clock: ManualClock): Promise<TestServer> {
  return startServer({ clock, env: { ...settings, HOLT_DATABASE_URL: await createMigratedDatabase() } });
}

async function startNext(first: TestServer, clock: ManualClock): Promise<TestServer> {
  const env = { ...settings, HOLT_DATABASE_URL: first.databaseUrl, HOLT_DATA_DIR: first.dataDir, HOLT_BASE_URL: first.baseUrl };
  return startServer({ clock, env });
}

const untilServers = ({ store }: TestServer, count: number) => until(async () => (await countServers(store.reader)) === count);

/** Inserts the rows without events of the subscriptions. */
async function subscribe({ store, orgUid }: TestServer, sink: string): Promise<void> {
  for (let i = 0; i < SUBSCRIPTIONS; i++)
    await insertSubscription(store, orgUid, `${orgUid}/${i.toString(16).padStart(16, "0")}`, `${sink}/${i}`);
}

/** Each event leads to a delivery to every subscription. */
async function appendEvents({ store, orgUid }: TestServer, clock: ManualClock, count: number): Promise<void> {
  const event = { type: "test", source: "test", subject: orgUid, group_uid: orgUid, time: clock.now().toISOString() };
  const rest = { audience: "customer" as const, body_type: "", extensions: "{}", data: "{}" };
  const rows = Array.from({ length: count }, () => ({ ...event, ...rest, id: randomUUID() }));
  await store.transaction((db) => db.insertInto("outbox").values(rows).execute());
}

/** Numbers of queues that the servers have, the smallest first. */
async function heldQueues({ store }: TestServer): Promise<number[]> {
  const held = store.reader.selectFrom("subscription_queue").where("lease_time", "is not", null).groupBy("lease_holder");
  const rows = await held.select(({ fn }) => fn.countAll<number>().as("n")).execute();
  return rows.map(({ n }) => Number(n)).toSorted((a, b) => a - b);
}

describe("deliveries of servers that share a database", () => {
  for (const size of [2, 3])
    test(`${size} servers claim as many of the queues that become due together each`, async () => {
      const clock = createManualClock(new Date());
      await using sink = await startWebhookReceiver();
      sink.behave(silence);
      await using first = await startFirst(clock);
      await using others = new AsyncDisposableStack();
      for (let i = 1; i < size; i++) others.use(await startNext(first, clock));
      await untilServers(first, size);
      await subscribe(first, sink.url);
      await appendEvents(first, clock, 1);
      await until(() => sink.received.length === SUBSCRIPTIONS);
      assert.deepEqual(await heldQueues(first), Array(size).fill(SUBSCRIPTIONS / size));
      assert.equal(new Set(sink.received.map(({ url }) => url)).size, SUBSCRIPTIONS);
    });

  test("a server sends what another one, which is frozen, does not claim", async () => {
    const clock = createManualClock(new Date());
    await using sink = await startWebhookReceiver();
    sink.behave(silence);
    await using server = await startFirst(clock);
    const frozen = new pg.Client({ connectionString: server.databaseUrl, application_name: SERVER_SESSION });
    await frozen.connect();
    try {
      await untilServers(server, 2);
      await subscribe(server, sink.url);
      await appendEvents(server, clock, 1);
      await until(() => sink.received.length >= SUBSCRIPTIONS / 2);
      await never(() => assert.equal(sink.received.length, SUBSCRIPTIONS / 2, "it left nothing to the other server"));
      clock.advance(1000);
      await until(() => sink.received.length === SUBSCRIPTIONS);
    } finally {
      await frozen.end();
    }
  });

  test("a server that starts during a backlog gets half of the queues", async () => {
    const clock = createManualClock(new Date());
    await using sink = await startWebhookReceiver({ keeps: false });
    sink.behave(afterMs(50, accept));
    await using first = await startFirst(clock);
    await untilServers(first, 1);
    await subscribe(first, sink.url);
    await appendEvents(first, clock, 400);
    await until(async () => (await heldQueues(first))[0] === SUBSCRIPTIONS);
    await using next = await startNext(first, clock);
    await until(async () => {
      const [few = 0, many = 0] = await heldQueues(next);
      return few === SUBSCRIPTIONS / 2 && many === few;
    });
  });
});
