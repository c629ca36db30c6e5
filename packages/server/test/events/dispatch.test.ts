/**
 * Tests which sink receives which event, when and in which order, on both stores with real servers and sinks. Servers
 * stop, are killed, and share a database.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { freePort } from "../harness/free-port.ts";
import { type ServerOptions, type StoreName, startServer, storeNames, type TestServer } from "../harness/harness.ts";
import { printedToken, type RunningServer, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn, createMigratedDatabase } from "../harness/migrated-database.ts";
import { giveTime, never, until, within } from "../harness/wait.ts";

const env = { HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", HOLT_WEBHOOK_BACKOFF: "50ms,100ms" };
/** A sink that does not answer never frees what its delivery holds by itself. */
const patient = { ...env, HOLT_WEBHOOK_TIMEOUT: "1h" };

interface Received {
  readonly path: string;
  readonly id: string;
  readonly name: string;
  readonly headers: IncomingHttpHeaders;
}

interface Sink extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
  /** Names of the groups in the events at a path, in order of arrival. */
  names(path: string): string[];
}

type Answer = (received: Received, response: ServerResponse) => void;

async function startSink(answer: Answer = (_, response) => response.end()): Promise<Sink> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (some: string) => (text += some));
    request.on("end", () => {
      const { name = "" } = (JSON.parse(text) as { body: { name?: string } }).body;
      const one = { path: request.url ?? "", id: String(request.headers["ce-id"]), name, headers: request.headers };
      received.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    names: (path) => received.filter((one) => one.path === path && one.name !== "").map((one) => one.name),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Reachable = Pick<TestServer, "baseUrl" | "token">;

async function call(server: Reachable, method: string, path: string, body?: unknown): Promise<{ uid: string }> {
  const answer = await fetch(server.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${server.token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text || "{}") as { uid: string };
}

const subscribe = async (server: Reachable, group: string, sink: string) =>
  (await call(server, "POST", `/events/v2/subscriptions/${group}`, { sink })).uid;
const makeGroup = async (server: Reachable, parent: string, name: string) =>
  (await call(server, "POST", `/iam/v2/groups/${parent}`, { name })).uid;
const makeOrganization = async (server: Reachable, name: string) => (await call(server, "POST", "/iam/v2/groups", { name })).uid;
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `g${from + i}`);

async function makeGroups(server: Reachable, parent: string, names: readonly string[]): Promise<void> {
  for (const name of names) await makeGroup(server, parent, name);
}

const queueOf = ({ store }: TestServer, uid: string) =>
  store.reader.selectFrom("subscription_queue").selectAll().where("subscription_uid", "=", uid).executeTakeFirstOrThrow();
const deliveriesOf = ({ store }: TestServer, uid: string) =>
  store.reader.selectFrom("delivery").selectAll().where("subscription_uid", "=", uid).orderBy("position").execute();

for (const store of storeNames) {
  const start = (options: ServerOptions = {}) => startServer({ store, env, ...options });

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

    test("a sink that never answers does not delay other sinks", async () => {
      await using sink = await startSink(({ path }, response) => void (path.startsWith("/dead") || response.end()));
      await using server = await start({ env: patient });
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
      await using server = await start({ env: patient });
      const other = await makeOrganization(server, "other");
      await subscribe(server, other, `${sink.url}/alive`);
      await until(() => sink.names("/alive").length === 0 && sink.received.some(({ path }) => path === "/alive"));
      await insertSubscriptions(server, server.orgUid, `${sink.url}/dead`, 400);
      await makeGroup(server, server.orgUid, "told to all");
      await until(() => sink.names("/dead").length >= 32);
      await makeGroup(server, other, "hello");
      await until(() => sink.names("/alive").includes("hello"));
    });

    test("deliveries to a failing sink wait together and are sent at once when it recovers", async () => {
      let isWell = false;
      await using sink = await startSink((_, response) => void response.writeHead(isWell ? 200 : 500).end());
      await using server = await start({ env: { ...env, HOLT_WEBHOOK_BACKOFF: "300ms" } });
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

    test("a stopping server aborts its deliveries and the next server sends them", async () => {
      let answers = false;
      await using sink = await startSink((_, response) => void (answers && response.end()));
      await using place = await createPlace(store, patient);
      await using stopped = await startOn(place);
      await subscribe(stopped, await organization(stopped), `${sink.url}/`);
      await until(() => sink.received.length === 1);
      stopped.kill("SIGTERM");
      // An attempt may take an hour here.
      assert.equal((await within(stopped.ended, () => "it waits for the attempts under way")).code, 0);
      answers = true;
      await using next = await startOn(place);
      await until(() => sink.received.length === 2);
      assert.equal(sink.received[0]?.id, sink.received[1]?.id);
      assert.equal(next.stderr().includes('"level":50'), false, next.stderr());
    });

    test("the next server sends the deliveries of a killed one and repeats hardly any", async () => {
      await using sink = await startSink();
      await using place = await createPlace(store);
      await using servers = new AsyncDisposableStack();
      let server = servers.use(await startOn(place));
      const org = await organization(server);
      for (const path of ["/a", "/b", "/c"]) await subscribe(server, org, sink.url + path);
      for (let kill = 0; kill < 2; kill++) {
        const names = numbered(50, 50 * kill);
        await makeGroups(server, org, names.slice(0, 40));
        const last = makeGroups(server, org, names.slice(40)).catch(() => {});
        server.kill("SIGKILL");
        await Promise.all([server.ended, last]);
        server = servers.use(await startOn(place));
      }
      await makeGroup(server, org, "last");
      await until(() => ["/a", "/b", "/c"].every((path) => sink.names(path).includes("last")));
      for (const path of ["/a", "/b", "/c"]) {
        const names = new Set(sink.names(path));
        for (const name of [...numbered(40), ...numbered(40, 50)]) assert.ok(names.has(name), `${path} was not told of ${name}`);
        const twice = sink.names(path).length - names.size;
        assert.ok(twice <= 2 * 20, `${path} was told of ${twice} events more than once`);
      }
    });
  });
}

interface Place extends AsyncDisposable {
  readonly settings: Settings;
}

/** Where servers come and go. */
async function createPlace(store: StoreName, settings: Settings = env): Promise<Place> {
  const folder = await temporaryFolder();
  const HOLT_DATABASE_URL = await createDatabaseOn(store);
  const HOLT_BASE_URL = `http://127.0.0.1:${await freePort()}`;
  return {
    settings: { ...settings, HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL, HOLT_BASE_URL },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Starts a server, and sets its base URL to the address where it listens, which is not that of its tokens. */
async function startOn({ settings }: Place): Promise<RunningServer & Reachable> {
  const server = await startHoltd(settings);
  return { ...server, baseUrl: `http://127.0.0.1:${server.port}`, token: await printedToken(settings) };
}

async function organization(server: Reachable): Promise<string> {
  const answer = await call(server, "GET", "/iam/v2/groups?uidp.in_root=true");
  return (answer as unknown as { items?: { uid: string }[]; groups?: { uid: string }[] }).groups?.[0]?.uid ?? "";
}

describe("servers that share a database", () => {
  test("a server takes over the deliveries that a killed server had begun", async () => {
    let answers = false;
    await using sink = await startSink((_, response) => void (answers && response.end()));
    await using place = await createPlace("postgres");
    await using first = await startOn(place);
    await subscribe(first, await organization(first), `${sink.url}/`);
    await until(() => sink.received.length === 1);
    await using _ = await startOn(place);
    await never(() => assert.equal(sink.received.length, 1, "the lease was not renewed, or not heeded"), 4000);
    answers = true;
    first.kill("SIGKILL");
    await until(() => sink.received.length === 2);
  });

  test("servers publish the events of a killed server and share deliveries without sending any twice", async () => {
    await using sink = await startSink();
    const url = await createMigratedDatabase();
    await using a = await startServer({ env: { ...env, HOLT_DATABASE_URL: url } });
    const shared = { ...env, HOLT_DATABASE_URL: url, HOLT_DATA_DIR: a.dataDir, HOLT_BASE_URL: a.baseUrl };
    await using b = await startServer({ env: shared });
    for (let i = 0; i < 10; i++) await subscribe(a, a.orgUid, `${sink.url}/${i}`);
    await Promise.all([makeGroups(a, a.orgUid, numbered(50)), makeGroups({ ...b, token: a.token }, a.orgUid, numbered(50, 50))]);
    await appendAsIfKilled(a);
    await until(() => Array.from({ length: 10 }, (_, i) => sink.names(`/${i}`)).every((names) => names.length >= 101));
    for (let i = 0; i < 10; i++) {
      const names = sink.names(`/${i}`);
      assert.equal(new Set(names).size, names.length, "something was sent twice");
      assert.deepEqual(names, sink.names("/0"), "the order differs");
    }
  });

  test("idle servers send few queries to the database", async () => {
    await using server = await startServer({ store: "postgres", env });
    const sample = async () => {
      const { rows } = await sql<{ n: number; s: number }>`
        select xact_commit as n, extract(epoch from clock_timestamp()) as s
        from pg_stat_database where datname = current_database()`.execute(server.store.reader);
      return { commits: Number(rows[0]?.n), seconds: Number(rows[0]?.s) };
    };
    // What the start of the server caused is counted a little later.
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
});

/** Inserts the rows at once, without their events. */
async function insertSubscriptions({ store }: TestServer, parent: string, sink: string, count: number): Promise<void> {
  const uids = Array.from({ length: count }, (_, i) => `${parent}/${i.toString(16).padStart(16, "0")}`);
  const row = { parent, sink, name: "", create_time: "", update_time: "", body: "{}" };
  await store.transaction(async (db) => {
    for (const uid of uids) {
      await db
        .insertInto("subscription")
        .values({ ...row, uid })
        .execute();
      await db.insertInto("subscription_queue").values({ subscription_uid: uid, failures: 0, pause_reason: "" }).execute();
    }
  });
}

/** Stores the event without notifying any server. */
async function appendAsIfKilled({ store, orgUid }: TestServer): Promise<void> {
  await store.transaction((db) =>
    db
      .insertInto("outbox")
      .values({
        ...{ id: randomUUID(), type: "test", source: "test", subject: orgUid, group_uid: orgUid, time: new Date().toISOString() },
        ...{ audience: "customer", body_type: "", extensions: "{}", data: '{"body":{"name":"orphan"}}' },
      })
      .execute(),
  );
}
