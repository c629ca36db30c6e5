/** Every committed change of rights reaches the other servers, whenever its transaction began. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { createMigratedDatabase } from "../../test/harness/migrated-database.ts";
import { never, until } from "../../test/harness/wait.ts";
import { openDatabase } from "../cli/open-installation.ts";
import { createLog } from "../lib/log.ts";
import { AccessChangeListener, appendAccessChange } from "./access-change.ts";
import type { Store } from "./store.ts";

const log = createLog("silent");
let url: string;
let store: Store;
before(async () => {
  url = await createMigratedDatabase();
  store = await openDatabase({ url, dataDir: "", log });
});
after(() => store[Symbol.asyncDispose]());

/** A listener and the changes it received since its first poll. */
async function listen(pollMs?: number): Promise<{ listener: AccessChangeListener; notified: string[] }> {
  const notified: string[] = [];
  const listener = new AccessChangeListener({
    url,
    log,
    onChange: (uids) => void notified.push(...uids),
    ...(pollMs === undefined ? {} : { pollMs }),
  });
  assert.equal(listener.isCurrent(), false);
  await until(() => notified.length > 0);
  assert.deepEqual(notified.splice(0), ["*"], "the first poll reports all identities as changed");
  return { listener, notified };
}

test("a change is delivered once and immediately", async () => {
  const { listener, notified } = await listen();
  await using _ = listener;
  // Only a notification can deliver a change to this one: it never polls again by itself.
  const notifiedOnly = await listen(600_000);
  await using _notifiedOnly = notifiedOnly.listener;
  for (let i = 0; i < 10; i++) {
    await store.transaction((db) => appendAccessChange(db, [`id${i}`, "x"]));
    for (const each of [notified, notifiedOnly.notified]) {
      await until(() => each.includes(`id${i}`));
      assert.deepEqual(each.splice(0), [`id${i}`, "x"]);
    }
  }
  await store.transaction((db) => appendAccessChange(db, "*"));
  await until(() => notified.length > 0);
  await never(() => assert.deepEqual(notified, ["*"]), 900);
  await until(() => listener.isCurrent());
});

test("a transaction that commits after a poll is delivered although later ones already were", async () => {
  const { listener, notified } = await listen();
  await using _ = listener;
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const late = store.transaction(async (db) => {
    await appendAccessChange(db, ["late"]);
    begun.resolve();
    await goOn.promise;
  });
  await begun.promise;
  for (const uid of ["early1", "early2"]) {
    await store.transaction((db) => appendAccessChange(db, [uid]));
    await until(() => notified.includes(uid));
  }
  // Changes of earlier tests may be delivered too: while any transaction of the PostgreSQL server runs, later ones are read again.
  const own = () => notified.filter((uid) => ["early1", "early2", "late"].includes(uid));
  await never(() => assert.deepEqual(own(), ["early1", "early2"]), 900);
  goOn.resolve();
  await late;
  await until(() => notified.includes("late"));
  assert.deepEqual(own(), ["early1", "early2", "late"]);
});

test("a poll finds changes without a notification", async () => {
  const { listener, notified } = await listen();
  await using _ = listener;
  await store.transaction((db) => db.insertInto("access_change").values({ identity_uid: "quiet" }).execute());
  await until(() => notified.includes("quiet"));
});

test("a change that is rolled back is not delivered", async () => {
  const { listener, notified } = await listen();
  await using _ = listener;
  await assert.rejects(
    store.transaction(async (db) => {
      await appendAccessChange(db, ["undone"]);
      throw new RangeError("no");
    }),
    RangeError,
  );
  await never(() => assert.ok(!notified.includes("undone")), 600);
});

test("a lost connection is replaced and everything counts as changed", async () => {
  const { listener, notified } = await listen();
  await using _ = listener;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()",
  );
  await client.end();
  await until(() => notified.includes("*"));
  await until(() => listener.isCurrent());
});

test("old changes are deleted", async () => {
  await store.transaction((db) =>
    db.insertInto("access_change").values({ identity_uid: "old", create_time: "2020-01-01T00:00:00.000Z" }).execute(),
  );
  const { listener } = await listen();
  await using _ = listener;
  const isThere = () => store.reader.selectFrom("access_change").select("seq").where("identity_uid", "=", "old").executeTakeFirst();
  await until(async () => (await isThere()) === undefined);
});

test("a listener without a database keeps retrying and can be closed", async () => {
  const listener = new AccessChangeListener({ url: "postgres://nobody@127.0.0.1:1/none", log, onChange: () => assert.fail() });
  await never(() => assert.equal(listener.isCurrent(), false));
  await listener[Symbol.asyncDispose]();
});

test("SQLite records no access changes", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-access-"));
  {
    await using sqlite = await openDatabase({ url: "", dataDir, log });
    await sqlite.transaction((db) => appendAccessChange(db, ["x"]));
    assert.deepEqual(await sqlite.reader.selectFrom("access_change").selectAll().execute(), []);
  }
  await rm(dataDir, { recursive: true });
});
