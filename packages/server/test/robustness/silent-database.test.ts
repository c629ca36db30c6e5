/** A server whose database goes silent answers in time, says that it is not ready, and recovers by itself. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pg from "pg";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { Code, HoltError } from "../../src/lib/errors.ts";
import { createLog } from "../../src/lib/log.ts";
import { startServer, type TestServer } from "../harness/harness.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { startTcpProxy, type TcpProxy, throughProxy } from "../harness/robustness/tcp-proxy.ts";
import { until, within } from "../harness/wait.ts";

/**
 * The bound of waiting for a recovery, from the moment at which the database can be reached again. A server that only its
 * limit of 30 seconds for statements frees takes longer.
 */
const RECOVERY_MS = 25_000;

interface Fixture extends AsyncDisposable {
  readonly server: TestServer;
  readonly proxy: TcpProxy;
  /** Without the proxy. */
  readonly url: string;
}

async function startBehindProxy(): Promise<Fixture> {
  await using stack = new AsyncDisposableStack();
  const url = await createMigratedDatabase();
  const proxy = stack.use(await startTcpProxy(url));
  const server = stack.use(await startServer({ env: { HOLT_DATABASE_URL: throughProxy(url, proxy), HOLT_DATABASE_POOL_SIZE: "4" } }));
  const owned = stack.move();
  return { server, proxy, url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

let serial = 0;
const createGroup = ({ http, orgUid }: TestServer) =>
  http("POST", `/iam/v2/groups/${orgUid}`, JSON.stringify({ name: `group-${serial++}` }));
const isReady = async ({ http }: TestServer) => (await http("GET", "/readyz")).status === 200;

/** Writes until one succeeds; each attempt must end. */
async function untilWritable(server: TestServer): Promise<void> {
  await until(async () => (await createGroup(server)).status === 200, RECOVERY_MS);
}

describe("a database that goes silent", { concurrency: true }, () => {
  test("a server recovers before the time limit of its statements after all its connections went silent", async () => {
    await using fixture = await startBehindProxy();
    const { server, proxy } = fixture;
    // More calls than connections, so that every connection has a statement that gets no answer.
    await Promise.all(Array.from({ length: 8 }, () => createGroup(server)));
    proxy.blackHole();
    const stuck = Array.from({ length: 8 }, () => createGroup(server));
    await until(async () => !(await isReady(server)));
    const first = await within(Promise.race(stuck), () => "calls never ended");
    assert.equal(first.status, 503);
    proxy.accept("pass");
    await untilWritable(server);
    await until(() => isReady(server), RECOVERY_MS);
    const answers = await within(Promise.all(stuck), () => "calls never ended");
    // A call that waited for a connection succeeds after the recovery.
    for (const { status, text } of answers) assert.ok(status === 503 || status === 200, text);
  });

  test("a server recovers although old connections stay silent, as after a firewall forgot them", async () => {
    await using fixture = await startBehindProxy();
    const { server, proxy } = fixture;
    await Promise.all(Array.from({ length: 8 }, () => createGroup(server)));
    proxy.silence();
    await untilWritable(server);
    await until(() => isReady(server), RECOVERY_MS);
  });

  test("calls end while the database stays silent, and the server stops", async () => {
    await using fixture = await startBehindProxy();
    const { server, proxy } = fixture;
    proxy.blackHole();
    const calls = Array.from({ length: 3 }, () => createGroup(server));
    for (const { status } of await within(Promise.all(calls), () => "calls never ended", 45_000)) assert.equal(status, 503);
  });

  test("a write whose commit gets no answer is UNAVAILABLE and says that its outcome is unknown", async () => {
    const url = await createMigratedDatabase();
    await using proxy = await startTcpProxy(url);
    await using store = await openDatabase({ url: throughProxy(url, proxy), dataDir: "", log: createLog("silent"), writers: 2 });
    const writing = store.transaction(async (db) => {
      await db.insertInto("server_state").values({ name: "late", value: "" }).execute();
      // The answer to the commit, the next statement, is lost.
      proxy.silence();
    });
    await assert.rejects(writing, (error: unknown) => {
      assert.ok(error instanceof HoltError && error.code === Code.UNAVAILABLE);
      assert.match(error.message, /may or may not have taken effect/);
      return true;
    });
  });

  test("a write that fails before its commit says that nothing was changed", async () => {
    const url = await createMigratedDatabase();
    await using proxy = await startTcpProxy(url);
    await using store = await openDatabase({ url: throughProxy(url, proxy), dataDir: "", log: createLog("silent"), writers: 2 });
    const writing = store.transaction(async (db) => {
      await db.insertInto("server_state").values({ name: "early", value: "" }).execute();
      proxy.silence();
      await db.insertInto("server_state").values({ name: "lost", value: "" }).execute();
    });
    await assert.rejects(writing, /the database did not answer; nothing was changed/);
    assert.deepEqual(await store.reader.selectFrom("server_state").select("name").where("name", "in", ["early", "lost"]).execute(), []);
  });

  test("a statement that the database is still working on is not cut off", async () => {
    const url = await createMigratedDatabase();
    await using proxy = await startTcpProxy(url);
    await using store = await openDatabase({ url: throughProxy(url, proxy), dataDir: "", log: createLog("silent"), writers: 2 });
    await store.transaction((db) => db.insertInto("server_state").values({ name: "row", value: "" }).execute());
    // Another session holds the row for longer than a silent connection is given.
    await using other = await connectTo(url);
    await other.client.query("begin; update server_state set value = 'theirs' where name = 'row'");
    const waiting = store.transaction((db) => db.updateTable("server_state").set({ value: "ours" }).where("name", "=", "row").execute());
    await other.client.query("select pg_sleep(7)");
    await other.client.query("commit");
    await waiting;
  });
});

test("a server on PostgreSQL is not ready while its writes fail, and is ready again by itself", async () => {
  await using server = await startServer({ store: "postgres" });
  assert.equal(await isReady(server), true);
  await using other = await connectTo(server.databaseUrl);
  // Stands for a full disk, and is what a standby answers: reads work and commits fail.
  await other.client.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no space left' using errcode = '53100'; end $$`,
  );
  await other.client.query(
    'create constraint trigger refuse_group after insert on "group" initially deferred for each row execute function refuse()',
  );
  await other.client.query(
    "create constraint trigger refuse_state after insert or update on server_state initially deferred for each row execute function refuse()",
  );
  assert.equal((await createGroup(server)).status, 503);
  const answer = await server.http("GET", "/readyz");
  assert.equal(answer.status, 503);
  assert.match(answer.text, /cannot store changes/);
  await other.client.query('drop trigger refuse_state on server_state; drop trigger refuse_group on "group"');
  await until(() => isReady(server), RECOVERY_MS);
  assert.equal((await createGroup(server)).status, 200);
});

async function connectTo(url: string): Promise<AsyncDisposable & { readonly client: pg.Client }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}
