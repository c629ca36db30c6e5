/** Tests what only SQLite has: files, group commits, locks of other processes and full disks. */
import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { CompiledQuery, sql } from "kysely";
import { never } from "../../test/harness/wait.ts";
import { openDatabase } from "../cli/open-installation.ts";
import { Code, HoltError } from "../lib/errors.ts";
import { createLog } from "../lib/log.ts";
import type { RepeatedQuery } from "./repeated.ts";
import type { Store, WriteDb } from "./store.ts";
import { ConstraintError } from "./transaction.ts";

const log = createLog("silent");
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "holt-sqlite-"));
});
after(() => rm(folder, { recursive: true }));

let serial = 0;
async function openNew(): Promise<{ store: Store; path: string }> {
  const dataDir = join(folder, "deep", String(serial++));
  return { store: await openDatabase({ url: "", dataDir, log }), path: join(dataDir, "holt.db") };
}

async function put(db: WriteDb, name: string, value = ""): Promise<void> {
  await db.insertInto("server_state").values({ name, value }).execute();
}

async function names(store: Store): Promise<string[]> {
  return (await store.reader.selectFrom("server_state").select("name").orderBy("name").execute()).map((row) => row.name);
}

function isUnavailable(error: unknown): boolean {
  return error instanceof HoltError && error.code === Code.UNAVAILABLE;
}

test("only the owner can read the files and the folder", async () => {
  const { store, path } = await openNew();
  await using _ = store;
  for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.equal((await stat(file)).mode & 0o777, 0o600, file);
  assert.equal((await stat(join(path, ".."))).mode & 0o777, 0o700);
});

test("the error names a folder that cannot be created and a file that is not a database", async () => {
  const file = join(folder, "a file");
  await writeFile(file, "no folder");
  await assert.rejects(
    openDatabase({ url: "", dataDir: join(file, "data"), log }),
    /cannot create the data folder .*a file\/data: ENOTDIR/,
  );
  await writeFile(join(folder, "holt.db"), "no database".repeat(100));
  await assert.rejects(openDatabase({ url: "", dataDir: folder, log }), /cannot open the database .*holt\.db: file is not a database/);
});

test("a statement that is repeated runs with the parameters of each row, and fails with the first row that does", async () => {
  const { store } = await openNew();
  await using _ = store;
  const insert = (...parameters: (readonly string[])[]) =>
    store.transaction(async (db) => {
      const query = CompiledQuery.raw("insert into server_state (name, value) values (?, ?)");
      const repeated: RepeatedQuery = { ...query, parameters, isRepeated: true };
      await db.getExecutor().executeQuery(repeated);
    });
  await insert(["z1", "a"], ["z2", "b"], ["z3", "c"]);
  const added = async () => (await names(store)).filter((name) => name.startsWith("z"));
  assert.deepEqual(await added(), ["z1", "z2", "z3"]);
  await assert.rejects(insert(["z4", "d"], ["z2", "e"], ["z5", "f"]), ConstraintError);
  await assert.rejects(insert(["z4", "d"], ["z\0", "e"]), /NUL/);
  assert.deepEqual(await added(), ["z1", "z2", "z3"], "the transaction leaves nothing");
});

test("an invalid address is refused without repeating it", async () => {
  for (const url of ["mysql://u:secret@h/d", "nonsense secret"]) {
    await assert.rejects(
      openDatabase({ url, dataDir: "", log }),
      (error: Error) => /postgres:\/\//.test(error.message) && !error.message.includes("secret"),
    );
  }
});

test("transactions run one after another and see each other's rows", async () => {
  const { store } = await openNew();
  await using _ = store;
  let running = 0;
  await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      store.transaction(async (db) => {
        assert.equal(++running, 1);
        const { n } = await db.selectFrom("server_state").select(db.fn.countAll<number>().as("n")).executeTakeFirstOrThrow();
        assert.equal(n, i);
        await put(db, String(i));
        running--;
      }),
    ),
  );
});

test("concurrent transactions share a commit", async () => {
  const { store, path } = await openNew();
  await using _ = store;
  const size = async () => (await stat(`${path}-wal`)).size;
  await store.transaction((db) => put(db, "warm"));
  const start = await size();
  await store.transaction((db) => put(db, "alone"));
  const one = (await size()) - start;
  const before = await size();
  await Promise.all(Array.from({ length: 50 }, (_, i) => store.transaction((db) => put(db, `n${i}`))));
  assert.ok((await size()) - before < 10 * one, "fifty commits would have written the same pages fifty times");
});

test("waiting for the lock of another process does not block this one", async () => {
  const { store, path } = await openNew();
  await using _ = store;
  using other = new DatabaseSync(path);
  other.exec("begin immediate");
  const write = store.transaction((db) => put(db, "patient"));
  await never(async () => assert.deepEqual(await names(store), []), 100);
  other.exec("commit");
  await write;
  assert.deepEqual(await names(store), ["patient"]);
});

test("a lock that is never released makes writes, and only writes, unavailable until it is released", async () => {
  const { store, path } = await openNew();
  await using _ = store;
  using other = new DatabaseSync(path);
  other.exec("begin immediate");
  await assert.rejects(
    store.transaction((db) => put(db, "unlucky")),
    isUnavailable,
  );
  assert.deepEqual(await names(store), []);
  await assert.rejects(store.ping(), isUnavailable);
  other.exec("commit");
  await store.ping();
  await store.transaction((db) => put(db, "lucky"));
  assert.deepEqual(await names(store), ["lucky", "write_probe"]);
});

test("a full disk fails the transaction that fills it and rolls it back", async () => {
  const { store } = await openNew();
  await using _ = store;
  await store.transaction((db) => put(db, "before"));
  await store.transaction((db) => sql`pragma max_page_count = 80`.execute(db));
  const settled = await Promise.allSettled([
    store.transaction(async (db) => {
      await put(db, "half");
      await put(db, "too much", "x".repeat(1_000_000));
    }),
    store.transaction((db) => put(db, "ignorant").then(() => put(db, "too much", "x".repeat(1_000_000)).catch(() => {}))),
  ]);
  for (const result of settled) assert.ok(result.status === "rejected" && isUnavailable(result.reason));
  await store.transaction((db) => put(db, "after"));
  assert.deepEqual(await names(store), ["after", "before"]);
});

test("a failed commit rejects its whole group, and the next commit succeeds", async () => {
  const { store } = await openNew();
  await using _ = store;
  const ran: string[] = [];
  const settled = await Promise.allSettled([
    store.transaction(async (db) => {
      db.afterCommit(() => ran.push("never"));
      await put(db, "first");
    }),
    store.transaction(async (db) => {
      // A deferred foreign key is the only way to make SQLite refuse a commit on demand.
      await sql`pragma defer_foreign_keys = on`.execute(db);
      await sql`insert into "group" (uid, parent, name, create_time, update_time, verified, body) values ('a', 'none', '', '', '', 0, '{}')`.execute(
        db,
      );
    }),
  ]);
  for (const result of settled) assert.ok(result.status === "rejected" && isUnavailable(result.reason));
  assert.deepEqual(ran, []);
  await store.transaction((db) => put(db, "next"));
  assert.deepEqual(await names(store), ["next"]);
});

test("closing the store finishes earlier transactions and refuses later ones", async () => {
  const { store, path } = await openNew();
  const writes = Array.from({ length: 100 }, (_, i) => store.transaction((db) => put(db, `n${i}`)));
  const closed = store[Symbol.asyncDispose]();
  await assert.rejects(
    store.transaction((db) => put(db, "late")),
    isUnavailable,
  );
  await Promise.all([...writes, closed]);
  await assert.rejects(stat(`${path}-wal`), /ENOENT/);
  using file = new DatabaseSync(path);
  assert.equal(file.prepare("select count(*) as n from server_state").get()?.n, 100);
});
