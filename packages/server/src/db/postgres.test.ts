/** Tests what only PostgreSQL has: retried conflicts, prepared statements and lost connections. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { createMigratedDatabase } from "../../test/harness/migrated-database.ts";
import { openDatabase } from "../cli/open-installation.ts";
import { Code, HoltError } from "../lib/errors.ts";
import { createLog } from "../lib/log.ts";
import type { Store, WriteDb } from "./store.ts";

const log = createLog("silent");
let url: string;
let store: Store;
before(async () => {
  url = await createMigratedDatabase();
  store = await openDatabase({ url, dataDir: "", log, readers: 2, writers: 4 });
  await store.transaction((db) =>
    db
      .insertInto("server_state")
      .values([state("a"), state("b")])
      .execute(),
  );
});
after(() => store[Symbol.asyncDispose]());

function state(name: string): { name: string; value: string } {
  return { name, value: "0" };
}

function incrementOf(db: WriteDb, name: string) {
  return db.updateTable("server_state").set({ value: sql`(cast(value as integer) + 1)::text` }).where("name", "=", name);
}

async function increment(db: WriteDb, name: string): Promise<void> {
  await incrementOf(db, name).execute();
}

test("a deadlocked transaction is retried and its actions after the commit run once", async () => {
  let attempts = 0;
  let actions = 0;
  const both = Promise.withResolvers<void>();
  const cross = (first: string, second: string) =>
    store.transaction(async (db) => {
      attempts++;
      db.afterCommit(() => actions++);
      await increment(db, first);
      if (attempts === 2) both.resolve();
      await both.promise;
      // The transaction may wrap the error, but the conflict must still be recognized.
      await increment(db, second).catch((cause) => {
        throw new RangeError("misunderstood", { cause });
      });
    });
  await Promise.all([cross("a", "b"), cross("b", "a")]);
  assert.ok(attempts >= 3);
  assert.equal(actions, 2);
  const rows = await store.reader.selectFrom("server_state").select(["name", "value"]).orderBy("name").execute();
  assert.deepEqual(rows, [
    { name: "a", value: "2" },
    { name: "b", value: "2" },
  ]);
});

test("a transaction is retried whose commit meets a deadlock of an appended statement", async () => {
  let attempts = 0;
  const both = Promise.withResolvers<void>();
  const cross = (first: string, second: string) =>
    store.transaction(async (db) => {
      await increment(db, first);
      // Both hold the row that the other one wants.
      if (++attempts === 2) both.resolve();
      await both.promise;
      await db.append(incrementOf(db, second).compile(), () => new RangeError("misunderstood"));
    });
  await store.transaction((db) =>
    db
      .insertInto("server_state")
      .values([state("x"), state("y")])
      .execute(),
  );
  await Promise.all([cross("x", "y"), cross("y", "x")]);
  assert.ok(attempts >= 3);
  const deleted = await store.transaction((db) =>
    db.deleteFrom("server_state").where("name", "in", ["x", "y"]).returning("value").execute(),
  );
  assert.deepEqual(deleted, [{ value: "2" }, { value: "2" }]);
});

test("the outcome is unknown if the connection is lost with the commit, also if statements were appended", async () => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const failing = store.transaction(async (db) => {
    await increment(db, "a");
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
    await client.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
    await db.append(incrementOf(db, "a").compile());
  });
  await assert.rejects(failing, /may or may not have taken effect/);
  await client.end();
  const row = await store.reader.selectFrom("server_state").select("value").where("name", "=", "a").executeTakeFirst();
  assert.deepEqual(row, { value: "2" });
});

test("a value that the driver cannot write is refused before its statement is appended", async () => {
  const failing = store.transaction((db) => db.append(sql`select ${{ toPostgres: assert.fail }}`.compile(db)));
  await assert.rejects(failing, /cannot be appended with a value of type object/);
});

test("the number of prepared statements stays small for many statements", async () => {
  for (let i = 0; i < 450; i++) await sql`select ${i}::int as ${sql.raw(`c${i}`)}`.execute(store.reader);
  const { rows } = await sql<{ n: number }>`select count(*) as n from pg_prepared_statements`.execute(store.reader);
  assert.ok(rows[0]!.n <= 202, `${rows[0]!.n}`);
});

test("a plan that a migration invalidated is renewed", async () => {
  const columns = async () => Object.keys((await store.reader.selectFrom("server_state").selectAll().executeTakeFirst()) ?? {});
  for (let i = 0; i < 4; i++) assert.deepEqual(await columns(), ["name", "value", "lease_holder", "lease_time"]);
  await store.transaction((db) => sql`alter table server_state add column more text`.execute(db));
  for (let i = 0; i < 4; i++) assert.deepEqual(await columns(), ["name", "value", "lease_holder", "lease_time", "more"]);
});

for (const [first, work] of [
  ["a write", (db: WriteDb) => increment(db, "idle")],
  ["a read", (db: WriteDb) => db.selectFrom("server_state").select("name").execute()],
] as const) {
  test(`transactions that start with ${first} begin on another connection where idle ones were closed`, async () => {
    const transaction = () => store.transaction<unknown>(work);
    await Promise.all(Array.from({ length: 3 }, transaction));
    const script = `import pg from "pg";
      const client = new pg.Client({ connectionString: process.argv[1] });
      await client.connect();
      await client.query("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()");
      await client.end();`;
    // This process waits without its event loop, so the pool cannot notice the end of its connections first.
    const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script, url], { cwd: import.meta.dirname });
    assert.equal(status, 0, String(stderr));
    await transaction();
  });
}

test("a transaction that reads first commits or rolls back its writes, and one without statements succeeds", async () => {
  assert.equal(await store.transaction(async () => 1), 1);
  await store.transaction(async (db) => {
    await db.selectFrom("server_state").select("name").execute();
    await db.insertInto("server_state").values(state("read-first")).execute();
  });
  const failing = store.transaction(async (db) => {
    const [row] = await Promise.all([
      db.selectFrom("server_state").select("name").where("name", "=", "read-first").executeTakeFirst(),
      increment(db, "read-first"),
    ]);
    throw new RangeError(row?.name);
  });
  await assert.rejects(failing, new RangeError("read-first"));
  const row = await store.reader.selectFrom("server_state").select("value").where("name", "=", "read-first").executeTakeFirst();
  assert.deepEqual(row, { value: "0" });
  await store.transaction((db) => db.deleteFrom("server_state").where("name", "=", "read-first").execute());
});

test("closed connections are replaced and their transactions are rolled back", async () => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const failing = store.transaction(async (db) => {
    await increment(db, "a");
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()",
    );
    await increment(db, "a");
  });
  await assert.rejects(failing, (error) => error instanceof HoltError && error.code === Code.UNAVAILABLE);
  await client.end();
  await store.transaction((db) => increment(db, "b"));
  const rows = await store.reader.selectFrom("server_state").select(["name", "value"]).orderBy("name").execute();
  assert.deepEqual(rows, [
    { name: "a", value: "2" },
    { name: "b", value: "3" },
  ]);
});

test("the error about a missing database does not contain its password", async () => {
  const failing = openDatabase({ url: "postgres://somebody:secret@127.0.0.1:1/none", dataDir: "", log });
  await assert.rejects(failing, (error: Error) => {
    assert.match(error.message, /cannot use the database 127\.0\.0\.1:1\/none: .*ECONNREFUSED/);
    return !error.message.includes("secret");
  });
});
