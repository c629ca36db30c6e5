/** Tests which sink receives which event, when and in which order, on both stores with a real server and sinks. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, test } from "node:test";
import { sql } from "kysely";
import {
  call,
  makeGroup,
  makeGroups,
  makeOrganization,
  numbered,
  patientSettings,
  settings,
  startSink,
  subscribe,
} from "../harness/events/group-events.ts";
import { subscribe as insertSubscription, queue } from "../harness/events/queue-store.ts";
import { type ServerOptions, startServer, storeNames, type TestServer } from "../harness/harness.ts";
import { giveTime, never, until } from "../harness/wait.ts";

const queueOf = ({ store }: TestServer, uid: string) => queue(store, uid);
const deliveriesOf = ({ store }: TestServer, uid: string) =>
  store.reader.selectFrom("delivery").selectAll().where("subscription_uid", "=", uid).orderBy("position").execute();

for (const store of storeNames) {
  const start = (options: ServerOptions = {}) => startServer({ store, env: settings, ...options });

  describe(`deliveries on ${store}`, () => {
    test("events are delivered in order to the subscriptions of their group and of all groups above", async () => {
      await using sink = await startSink();
      await using server = await start();
      const team = await makeGroup(server, server.orgUid, "team");
      const other = await makeGroup(server, server.orgUid, "other");
      await subscribe(server, server.orgUid, `${sink.url}/org`);
      await subscribe(server, team, `${sink.url}/team`);
      await subscribe(server, other, `${sink.url}/other`);
      await makeGroups(server, team, numbered(40));
      await until(() => sink.names("/org").includes("g39") && sink.names("/team").includes("g39"));
      // A subscription can also receive events from just before its creation.
      const since = (path: string) => sink.names(path).filter((name) => /^g\d+$/.test(name));
      assert.deepEqual(since("/org"), numbered(40));
      assert.deepEqual(since("/team"), numbered(40));
      assert.deepEqual(since("/other"), []);
    });

    test("a failed delivery is retried with the same id while others continue", async () => {
      let refusals = 2;
      await using sink = await startSink(({ name }, response) => {
        response.statusCode = name === "g0" && refusals-- > 0 ? 503 : 204;
        response.end();
      });
      await using server = await start();
      const uid = await subscribe(server, server.orgUid, `${sink.url}/`);
      await makeGroups(server, server.orgUid, numbered(5));
      await until(() => new Set(sink.names("/")).size === 5 && sink.names("/").length === 7);
      assert.equal(new Set(sink.received.filter(({ name }) => name === "g0").map(({ id }) => id)).size, 1);
      assert.deepEqual(
        sink.names("/").filter((name) => name !== "g0"),
        numbered(4, 1),
      );
      await until(async () => (await deliveriesOf(server, uid)).every(({ state }) => state === "delivered"));
      const [, first] = await deliveriesOf(server, uid);
      assert.deepEqual([first?.attempts, first?.status_code, first?.error], [3, 204, ""]);
      await until(async () => (await queueOf(server, uid)).lease_holder === null);
      assert.deepEqual(
        [(await queueOf(server, uid)).failures, (await queueOf(server, uid)).next_time, (await queueOf(server, uid)).hold_time],
        [0, null, null],
      );
    });

    test("a sink that is gone pauses its subscription until it is resumed", async () => {
      let status = 410;
      await using sink = await startSink((_, response) => void response.writeHead(status).end());
      await using server = await start();
      const uid = await subscribe(server, server.orgUid, `${sink.url}/`);
      await until(async () => (await queueOf(server, uid)).pause_time !== null);
      assert.match((await queueOf(server, uid)).pause_reason, /410/);
      await makeGroups(server, server.orgUid, numbered(3));
      await until(async () => (await deliveriesOf(server, uid)).length === 4);
      assert.equal(sink.received.length, 1);
      status = 200;
      await call(server, "POST", `/holt/v1/subscriptions/${uid}:resume`, {});
      await until(() => sink.names("/").length === 3);
      assert.deepEqual(sink.names("/"), numbered(3));
    });

    for (const status of [204, 500])
      test(`an event that is redelivered during an attempt is sent again after the attempt ends with ${status}`, async () => {
        const attempts: ServerResponse[] = [];
        await using sink = await startSink(({ name }, response) => {
          if (name !== "g0" || attempts.push(response) > 1) response.end();
        });
        await using server = await start({ env: { ...patientSettings, HOLT_WEBHOOK_BACKOFF: "24h" } });
        const uid = await subscribe(server, server.orgUid, `${sink.url}/`);
        await makeGroup(server, server.orgUid, "g0");
        await until(() => attempts.length === 1);
        const eventId = sink.received.find(({ name }) => name === "g0")?.id;
        await call(server, "POST", `/holt/v1/subscriptions/${uid}/deliveries:redeliver`, { eventId });
        attempts[0]?.writeHead(status).end();
        await until(() => attempts.length === 2);
        await until(async () => (await deliveriesOf(server, uid)).every(({ state }) => state === "delivered"));
      });

    test("a sink that never answers does not delay other sinks", async () => {
      await using sink = await startSink(({ path }, response) => void (path.startsWith("/dead") || response.end()));
      await using server = await start({ env: patientSettings });
      for (let i = 0; i < 80; i++) await subscribe(server, server.orgUid, `${sink.url}/dead${i}`);
      await subscribe(server, server.orgUid, `${sink.url}/alive`);
      await until(() => sink.received.some(({ path }) => path === "/alive"));
      for (const name of numbered(10)) {
        await makeGroup(server, server.orgUid, name);
        await until(() => sink.names("/alive").includes(name));
      }
    });

    test("many silent sinks of one organization do not delay another organization", async () => {
      await using sink = await startSink(({ path }, response) => void (path.startsWith("/dead") || response.end()));
      await using server = await start({ env: patientSettings });
      const other = await makeOrganization(server, "other");
      await subscribe(server, other, `${sink.url}/alive`);
      await until(() => sink.names("/alive").length === 0 && sink.received.some(({ path }) => path === "/alive"));
      await insertSubscriptions(server, `${sink.url}/dead`, 400);
      await makeGroup(server, server.orgUid, "told to all");
      await until(() => sink.names("/dead").length >= 32);
      await makeGroup(server, other, "hello");
      await until(() => sink.names("/alive").includes("hello"));
    });

    test("deliveries to a failing sink wait together and are sent at once when it recovers", async () => {
      let isWell = false;
      await using sink = await startSink((_, response) => void response.writeHead(isWell ? 200 : 500).end());
      await using server = await start({ env: { ...settings, HOLT_WEBHOOK_BACKOFF: "300ms" } });
      const uid = await subscribe(server, server.orgUid, `${sink.url}/`);
      await makeGroups(server, server.orgUid, numbered(20));
      await until(async () => (await queueOf(server, uid)).failures >= 4);
      const attempts = sink.received.length;
      assert.ok(attempts < 10, `${attempts} attempts at 21 events`);
      isWell = true;
      await until(async () => (await deliveriesOf(server, uid)).every(({ state }) => state === "delivered"));
      assert.equal(new Set(sink.names("/")).size, 20);
    });

    test("events are not delivered to a deleted subscription", async () => {
      const { promise: isDeleted, resolve: answerAll } = Promise.withResolvers<void>();
      await using sink = await startSink(
        ({ path }, response) => void (path === "/" ? isDeleted : Promise.resolve()).then(() => response.end()),
      );
      await using server = await start();
      const uid = await subscribe(server, server.orgUid, `${sink.url}/`);
      await makeGroups(server, server.orgUid, numbered(5));
      await until(() => sink.names("/").length > 0 || sink.received.length > 0);
      await call(server, "DELETE", `/events/v2/subscriptions/${uid}`);
      const count = sink.received.length;
      assert.ok(count < 5, `${count} were made`);
      answerAll();
      await subscribe(server, server.orgUid, `${sink.url}/later`);
      await makeGroup(server, server.orgUid, "later");
      await until(() => sink.names("/later").includes("later"));
      await never(() => assert.equal(sink.received.filter(({ path }) => path === "/").length, count));
    });
  });
}

test("idle servers send few queries to the database", async () => {
  await using server = await startServer({ store: "postgres", env: settings });
  const sample = async () => {
    const { rows } = await sql<{ n: number; s: number }>`
      select xact_commit as n, extract(epoch from clock_timestamp()) as s
      from pg_stat_database where datname = current_database()`.execute(server.store.reader);
    return { commits: Number(rows[0]?.n), seconds: Number(rows[0]?.s) };
  };
  // PostgreSQL counts the queries of the start a little later.
  await giveTime(2000);
  const before = await sample();
  await giveTime(5000);
  const after = await sample();
  // By the clock of the database, which counts the commits: a slow machine has a longer time, and not a higher rate.
  const perSecond = (after.commits - before.commits) / (after.seconds - before.seconds);
  // Per second 2.5 queries poll for changed rights and 2 for events, and the database adds some. A loop without a
  // wait would send hundreds.
  assert.ok(perSecond < 30, `${perSecond} transactions per second`);
});

/** Inserts the rows without events of the subscriptions. */
async function insertSubscriptions({ store, orgUid }: TestServer, sink: string, count: number): Promise<void> {
  const uids = Array.from({ length: count }, (_, i) => `${orgUid}/${i.toString(16).padStart(16, "0")}`);
  await Promise.all(uids.map((uid) => insertSubscription(store, orgUid, uid, sink)));
}
