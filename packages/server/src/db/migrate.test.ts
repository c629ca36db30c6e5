/** Migrations on both stores: several at once, newer data, failure. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { sql } from "kysely";
import { createDatabase } from "../../test/harness/postgres.ts";
import { createLog } from "../lib/log.ts";
import { type Migration, migrate } from "./migrate.ts";
import { openStore, type StoreOptions } from "./open.ts";

const log = createLog("silent");
const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

describe("migrating SQLite", () =>
  suite(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "holt-migrate-"));
    folders.push(dataDir);
    return { url: "", dataDir, log };
  }));
describe("migrating PostgreSQL", () => suite(async () => ({ url: await createDatabase(), dataDir: "", log })));

function suite(place: () => Promise<StoreOptions>): void {
  test("several servers may start at once on an empty database", async () => {
    const options = await place();
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(options)));
    const { rows } = await sql<{ version: number; name: string }>`select version, name from schema_migration`.execute(stores[0]!.reader);
    assert.deepEqual(rows.slice(0, 2), [
      { version: 1, name: "initial" },
      { version: 2, name: "registry" },
    ]);
    assert.deepEqual(
      rows.map(({ version }) => version),
      rows.map((_, index) => index + 1),
    );
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  });

  test("data of a newer program is refused with both versions", async () => {
    const options = await place();
    {
      await using store = await openStore(options);
      await store.transaction((db) => sql`insert into schema_migration (version, name, applied_time) values (99, 'later', '')`.execute(db));
    }
    await assert.rejects(
      openStore(options),
      /written by a newer Holt \(schema 99\); this program knows \d+\. Start the newer version or restore a backup/,
    );
  });

  test("a migration that fails leaves nothing of itself, and the ones before it", async () => {
    await using store = await openStore(await place());
    const { rows: applied } = await sql`select version from schema_migration`.execute(store.reader);
    const known = applied.map((): Migration => ({ name: "known", statements: () => [] }));
    const good: Migration = { name: "good", statements: ({ types }) => [`create table good (x ${types.text})`] };
    const bad: Migration = { name: "bad", statements: ({ types }) => [`create table half (x ${types.text})`, "create nonsense"] };
    await assert.rejects(migrate(store, log, [...known, good, bad]), /syntax error/);
    await assert.rejects(sql`select x from half`.execute(store.reader));
    await sql`select x from good`.execute(store.reader);
    await migrate(store, log, [...known, good]);
    const { rows } = await sql`select version from schema_migration order by version`.execute(store.reader);
    assert.equal(rows.length, applied.length + 1);
  });
}
