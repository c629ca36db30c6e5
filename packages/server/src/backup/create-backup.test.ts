/** Backups after an interruption and after a correction of the clock. */
import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/harness/holtd.ts";
import { createFilesystemBlobs } from "../blobs/filesystem.ts";
import { openDatabase } from "../cli/open-installation.ts";
import { sqlitePath } from "../db/open.ts";
import { createLog } from "../lib/log.ts";
import { createBackup, pruneBackups } from "./create-backup.ts";
import { createSqliteSource } from "./database-source.ts";
import { openFolderTarget } from "./folder-target.ts";
import { listSnapshots } from "./snapshot.ts";
import type { BackupTarget } from "./target.ts";

const log = createLog("silent");
const report = { step() {}, progress() {}, problem() {} };

async function withTarget(work: (target: BackupTarget, backUp: (now: Date) => Promise<string>) => Promise<void>): Promise<void> {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  await using _store = await openDatabase({ url: "", dataDir, log });
  using target = await openFolderTarget(join(folder.path, "backups"), "write");
  const parts = {
    target,
    database: createSqliteSource(sqlitePath(dataDir), []),
    blobs: createFilesystemBlobs({ dataDir, log }),
    async *presentBlobs() {},
    secretsKey: undefined,
    version: "1",
    scratch: dataDir,
    verifiesBlobs: false,
  };
  await work(target, async (now) => (await createBackup({ ...parts, now }, report)).snapshot.name);
}

test("a backup after the clock was corrected is the newest one, and pruning keeps it", () =>
  withTarget(async (target, backUp) => {
    const ahead = await backUp(new Date("2031-12-31T23:59:59.999Z"));
    const corrected = await backUp(new Date("2030-01-01T00:00:00.000Z"));
    assert.deepEqual((await listSnapshots(target)).complete, [ahead, corrected]);
    await pruneBackups(target, 1);
    assert.deepEqual((await listSnapshots(target)).complete, [corrected]);
  }));

test("a backup removes the copy of the database that an interrupted one has left", () =>
  withTarget(async (target, backUp) => {
    const folder = target.scratch ?? "";
    const seen = new Set<string>();
    const { write } = target;
    target.write = async (...args) => {
      for (const name of await readdir(folder)) seen.add(name);
      return write(...args);
    };
    await backUp(new Date("2030-01-01T00:00:00.000Z"));
    const left = [...seen].filter((name) => name.startsWith("holt-backup-"));
    assert.notDeepEqual(left, []);
    // The process was killed during the copy.
    for (const name of left) await writeFile(join(folder, name), "half of a database");
    await backUp(new Date("2030-01-02T00:00:00.000Z"));
    assert.deepEqual((await readdir(folder)).sort(), ["snapshots"]);
  }));
