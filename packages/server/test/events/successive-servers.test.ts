/** Servers that stop, are killed, or share a database send all events on both stores, and hardly any of them twice. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  call,
  makeGroup,
  makeGroups,
  numbered,
  patientSettings,
  type Reachable,
  settings,
  startSink,
  subscribe,
} from "../harness/events/group-events.ts";
import { append } from "../harness/events/queue-store.ts";
import { freePort } from "../harness/free-port.ts";
import { type StoreName, startServer, storeNames } from "../harness/harness.ts";
import { printedToken, type RunningServer, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn, createMigratedDatabase } from "../harness/migrated-database.ts";
import { never, until, within } from "../harness/wait.ts";

for (const store of storeNames)
  describe(`deliveries of successive servers on ${store}`, () => {
    test("a stopping server aborts its deliveries and the next server sends them", async () => {
      let answers = false;
      await using sink = await startSink((_, response) => void (answers && response.end()));
      await using place = await createPlace(store, patientSettings);
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
    await using a = await startServer({ env: { ...settings, HOLT_DATABASE_URL: url } });
    const shared = { ...settings, HOLT_DATABASE_URL: url, HOLT_DATA_DIR: a.dataDir, HOLT_BASE_URL: a.baseUrl };
    await using b = await startServer({ env: shared });
    for (let i = 0; i < 10; i++) await subscribe(a, a.orgUid, `${sink.url}/${i}`);
    await Promise.all([makeGroups(a, a.orgUid, numbered(50)), makeGroups({ ...b, token: a.token }, a.orgUid, numbered(50, 50))]);
    await append(a.store, { group: a.orgUid, data: '{"body":{"name":"orphan"}}' });
    await until(() => Array.from({ length: 10 }, (_, i) => sink.names(`/${i}`)).every((names) => names.length >= 101));
    for (let i = 0; i < 10; i++) {
      const names = sink.names(`/${i}`);
      assert.equal(new Set(names).size, names.length, "something was sent twice");
      assert.deepEqual(names, sink.names("/0"), "the order differs");
    }
  });
});

interface Place extends AsyncDisposable {
  readonly settings: Settings;
}

/** Where servers come and go. */
async function createPlace(store: StoreName, given: Settings = settings): Promise<Place> {
  const folder = await temporaryFolder();
  const HOLT_DATABASE_URL = await createDatabaseOn(store);
  const HOLT_BASE_URL = `http://127.0.0.1:${await freePort()}`;
  return {
    settings: { ...given, HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL, HOLT_BASE_URL },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Starts a server, and sets its base URL to the address where it listens, which is not that of its tokens. */
async function startOn({ settings }: Place): Promise<RunningServer & Reachable> {
  const server = await startHoltd(settings);
  return { ...server, baseUrl: `http://127.0.0.1:${server.port}`, token: await printedToken(settings) };
}

async function organization(server: Reachable): Promise<string> {
  const answer: unknown = await call(server, "GET", "/iam/v2/groups?uidp.in_root=true");
  return (answer as { groups: { uid: string }[] }).groups[0]?.uid ?? "";
}
