/** Tests migrations on both stores: concurrent starts, newer data and failures. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { sql } from "kysely";
import { createDatabase } from "../../test/harness/postgres.ts";
import { openDatabase } from "../cli/open-installation.ts";
import { createLog, type Log } from "../lib/log.ts";
import { type Migration, migrate, orderMigrations } from "./migrate.ts";
import type { StoreOptions } from "./open.ts";

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

function suite(place: () => Promise<Omit<StoreOptions, "migrations">>): void {
  test("several servers can start together on an empty database", async () => {
    const options = await place();
    const stores = await Promise.all(Array.from({ length: 4 }, () => openDatabase(options)));
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

  test("a new database logs one line, and an upgrade one line for each migration", async () => {
    const options = await place();
    const lines: (readonly [string, number])[] = [];
    const recording = Object.create(log, {
      info: { value: ({ version }: { version: number }, message: string) => lines.push([message, version]) },
    }) as Log;
    await using store = await openDatabase({ ...options, log: recording });
    const schema = lines[0]?.[1] ?? 0;
    assert.deepEqual(lines.splice(0), [["created the tables of the database", schema]]);
    const known = Array.from({ length: schema + 2 }, (_, index): Migration => ({ version: index + 1, name: "new", statements: () => [] }));
    await migrate(store, recording, known);
    assert.deepEqual(lines, [
      ["migrated the database", schema + 1],
      ["migrated the database", schema + 2],
    ]);
  });

  test("data of a newer program is refused with a message that names both versions", async () => {
    const options = await place();
    {
      await using store = await openDatabase(options);
      await store.transaction((db) => sql`insert into schema_migration (version, name, applied_time) values (99, 'later', '')`.execute(db));
    }
    await assert.rejects(
      openDatabase(options),
      /written by a newer Holt \(schema 99\); this program knows \d+\. Start the newer version or restore a backup/,
    );
  });

  test("a failed migration leaves no changes and keeps the migrations before it", async () => {
    await using store = await openDatabase(await place());
    const { rows: applied } = await sql`select version from schema_migration`.execute(store.reader);
    const known = applied.map((_, index): Migration => ({ version: index + 1, name: "known", statements: () => [] }));
    const next = applied.length + 1;
    const good: Migration = { version: next, name: "good", statements: ({ types }) => [`create table good (x ${types.text})`] };
    const bad: Migration = {
      version: next + 1,
      name: "bad",
      statements: ({ types }) => [`create table half (x ${types.text})`, "create nonsense"],
    };
    await assert.rejects(migrate(store, log, [...known, good, bad]), /syntax error/);
    await assert.rejects(sql`select x from half`.execute(store.reader));
    await sql`select x from good`.execute(store.reader);
    await migrate(store, log, [...known, good]);
    const { rows } = await sql`select version from schema_migration order by version`.execute(store.reader);
    assert.equal(rows.length, applied.length + 1);
  });
}

test("a new PostgreSQL database with another encoding than UTF8 is refused and stays empty", async () => {
  const options = { url: await createDatabase("template0", "SQL_ASCII"), dataDir: "", log };
  await assert.rejects(openDatabase(options), /the database has the encoding SQL_ASCII; create it with the encoding UTF8/);
  await assert.rejects(openDatabase({ ...options, mustExist: true }), /there is no Holt installation in the database/);
});

test("orderMigrations rejects a gap and a duplicate version", () => {
  const migration = (version: number): Migration => ({ version, name: `m${version}`, statements: () => [] });
  assert.deepEqual(
    orderMigrations([migration(2), migration(1)]).map(({ version }) => version),
    [1, 2],
  );
  assert.throws(() => orderMigrations([migration(1), migration(3)]), /migration "m3" has version 3, but 2 is next/);
  assert.throws(() => orderMigrations([migration(1), migration(1)]), /migration "m1" has version 1, but 2 is next/);
});
