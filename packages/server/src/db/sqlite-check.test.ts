/** Tests the reports of the check of an SQLite file. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, beforeEach, test } from "node:test";
import { findDamage, listTables } from "./sqlite-check.ts";

let folder: string;
let path: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "holt-check-"));
  path = join(folder, "test.db");
});
after(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  rmSync(path, { force: true });
  using database = new DatabaseSync(path);
  database.exec("create table a (text text); create table b (text text); insert into a values ('x')");
});

function overwrite(begin: number, end: number): void {
  writeFileSync(path, readFileSync(path).fill(0xff, begin, end));
}

test("the schema and all tables of an intact file are checked without problems", () => {
  assert.deepEqual(listTables(path), ["sqlite_schema", "a", "b"]);
  for (const table of listTables(path)) assert.deepEqual(findDamage(path, table), []);
});

for (const [part, begin, end] of [
  ["header", 0, 100],
  ["schema page", 100, 4096],
] as const)
  test(`a damaged ${part} is reported as damage of the schema`, () => {
    overwrite(begin, end);
    assert.deepEqual(listTables(path), ["sqlite_schema"]);
    assert.equal(findDamage(path, "sqlite_schema").length, 1);
  });
