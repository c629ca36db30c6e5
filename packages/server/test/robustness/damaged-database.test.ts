/** A server notices damaged pages of its SQLite file before a call reads them. */
import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";

test("a damaged page that no call reads makes the server not ready and is logged with its table", async () => {
  await using folder = await temporaryFolder();
  await using server = await startHoltd({ HOLT_DATA_DIR: folder.path, HOLT_DATABASE_CHECK: "1s" });
  const readiness = async () => (await fetch(`${server.baseUrl}/readyz`)).text();
  assert.equal(await readiness(), "ok\n");
  const path = join(folder.path, "holt.db");
  const { rootpage, size } = placeOf(path, "tag_history");
  {
    await using file = await open(path, "r+");
    await file.write(Buffer.alloc(size, 0xff), 0, size, (rootpage - 1) * size);
    await file.sync();
  }
  await until(async () => /the database file is damaged, in tag_history/.test(await readiness()));
  await until(() => /"table":"tag_history".*the database file is damaged/.test(server.stderr()));
  assert.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200);
});

test("a damaged header of the file makes the server not ready and is logged as damage of the schema", async () => {
  await using folder = await temporaryFolder();
  await using server = await startHoltd({ HOLT_DATA_DIR: folder.path, HOLT_DATABASE_CHECK: "1s" });
  const path = join(folder.path, "holt.db");
  placeOf(path, "tag_history");
  {
    await using file = await open(path, "r+");
    await file.write(Buffer.alloc(100, 0xff), 0, 100, 0);
    await file.sync();
  }
  const readiness = async () => (await fetch(`${server.baseUrl}/readyz`)).text();
  await until(() => /"table":"sqlite_schema".*the database file is damaged/.test(server.stderr()));
  assert.notEqual(await readiness(), "ok\n");
});

/** The first page of the table, with everything written to the file itself. */
function placeOf(path: string, table: string): { rootpage: number; size: number } {
  using database = new DatabaseSync(path);
  database.exec("pragma wal_checkpoint(truncate)");
  const row = database
    .prepare("select rootpage, (select page_size from pragma_page_size) as size from sqlite_schema where name = ?")
    .get(table);
  return row as never;
}
