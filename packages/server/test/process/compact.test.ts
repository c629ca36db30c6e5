/** Tests `holtd compact`, and the rewriting of small SQLite files of earlier versions at the start of a server. */
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createInstallation, runHoltd, startHoltd, temporaryFolder } from "../harness/holtd.ts";

const modeOf = (path: string) => {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare("pragma auto_vacuum").get()?.auto_vacuum;
};

/** Makes the file one of an earlier version, with unused pages. */
function makeOld(path: string, bytes: number): void {
  using database = new DatabaseSync(path);
  database.exec("pragma auto_vacuum = none; vacuum; create table filler (text text)");
  const insert = database.prepare("insert into filler values (?)");
  database.exec("begin");
  for (let written = 0; written < bytes; written += 100_000) insert.run("x".repeat(100_000));
  database.exec("commit; drop table filler; pragma wal_checkpoint(truncate)");
}

test("a server rewrites a small file of an earlier version at its start, and compact rewrites a large one while no server runs", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data") };
  const path = join(settings.HOLT_DATA_DIR, "holt.db");
  const missing = await runHoltd(["compact"], settings);
  assert.deepEqual([missing.code, /there is no database/.test(missing.stderr)], [1, true]);

  await createInstallation(settings);
  assert.equal(modeOf(path), 2);
  makeOld(path, 1_000_000);
  assert.equal(modeOf(path), 0);
  {
    await using _server = await startHoltd(settings);
    assert.equal(modeOf(path), 2);
    const refused = await runHoltd(["compact"], settings);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^holtd: another holtd serves the data in .*; stop it first: compaction needs the database for itself\n$/);
  }

  makeOld(path, 70_000_000);
  {
    await using _server = await startHoltd(settings);
    assert.equal(modeOf(path), 0);
  }
  const run = await runHoltd(["compact"], settings);
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout, /^The database file had 7\d{7} bytes and has [1-4]?\d{6} now\./);
  assert.deepEqual([modeOf(path), statSync(path).size < 5_000_000, statSync(path).mode & 0o777], [2, true, 0o600]);
  await using _server = await startHoltd(settings);
});
