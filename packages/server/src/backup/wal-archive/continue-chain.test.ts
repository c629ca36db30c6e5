/** The archive of a write-ahead log continues after restarts and kills, and beside other processes. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { copyFile, cp, mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { until } from "../../../test/harness/wait.ts";
import {
  archived,
  createPlace,
  HOUR_MS,
  insert,
  restoredRows,
  rowsOf,
  run,
  SECOND_MS,
  targetWhile,
} from "../../../test/harness/wal-archive.ts";
import { type PinnedSqlite, pinSqlite } from "../../db/sqlite-copy.ts";
import type { ExclusiveWal, WalControl } from "../../db/wal-control.ts";
import type { BackupTarget } from "../target.ts";
import { listBases, listSegments, readSegment } from "./archive-form.ts";

test("a server continues the archive of its last run, and takes a new base after another program wrote", async () => {
  await using place = await createPlace();
  for (let round = 0; round < 3; round++) {
    await using running = await run(place);
    await insert(running.store, 400);
    await archived(place, running);
  }
  assert.equal((await listBases(place.target)).length, 1);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
  {
    using database = new DatabaseSync(place.path);
    database.exec("insert into note (text) values ('of another program'); pragma wal_checkpoint(truncate)");
  }
  place.clock.advance(SECOND_MS);
  await using running = await run(place);
  await until(async () => (await listBases(place.target)).length === 2);
  await insert(running.store, 1);
  await archived(place, running);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});

test("a server continues an archive whose segments are all covered by a base", async () => {
  await using place = await createPlace();
  {
    await using running = await run(place, { baseEveryMs: SECOND_MS, retentionMs: 0 });
    await archived(place, running);
    for (let i = 0; i < 3; i++) {
      await insert(running.store, 1);
      await archived(place, running);
    }
    const segments = await listSegments(place.target);
    assert.ok(segments.length > 1);
    place.clock.advance(2 * SECOND_MS);
    await until(async () => (await listSegments(place.target)).length < segments.length);
  }
  const [base, ...others] = await listBases(place.target);
  assert.deepEqual(others, []);
  await using running = await run(place);
  await insert(running.store, 1);
  await archived(place, running);
  assert.deepEqual(await listBases(place.target), [base]);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});

test("an archive whose server had a clock that was ahead restores what was written after the correction", async () => {
  await using place = await createPlace();
  place.clock.advance(HOUR_MS);
  {
    await using running = await run(place);
    await insert(running.store, 10);
    await archived(place, running);
  }
  {
    using database = new DatabaseSync(place.path);
    database.exec("insert into note (text) values ('of another program'); pragma wal_checkpoint(truncate)");
  }
  place.clock.advance(-HOUR_MS);
  for (let round = 0; round < 2; round++) {
    await using running = await run(place);
    await insert(running.store, 10);
    await archived(place, running);
    assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
  }
});

test("a server that was killed after it began a new log continues the archive with the rest of the old log", async () => {
  await using place = await createPlace();
  const state = join(place.folder, "wal-archive.json");
  const hasRest = () => existsSync(state) && "rest" in JSON.parse(readFileSync(state, "utf8"));
  const target: BackupTarget = {
    ...place.target,
    async write(path, content) {
      if (path.startsWith("wal/") && hasRest()) {
        content.destroy();
        throw new Error("unreachable");
      }
      await place.target.write(path, content);
      // Nothing has seen this change yet when the new log begins.
      if (path.startsWith("wal/")) await insert(running.store, 1);
    },
  };
  await using running = await run(place, { target });
  await until(() => running.archiver.baseSeconds() !== undefined);
  await insert(running.store, 500);
  await until(hasRest);
  // More than the number of frames after which SQLite would copy the log by itself.
  await insert(running.store, 500);

  const killed = join(place.folder, "killed");
  await mkdir(killed);
  for (const name of ["holt.db", "holt.db-wal", "wal-archive.json"]) await copyFile(join(place.folder, name), join(killed, name));
  const next = { ...place, folder: killed, path: join(killed, "holt.db") };
  await using restarted = await run(next);
  await archived(next, restarted);
  assert.equal((await listBases(place.target)).length, 1);
  assert.deepEqual(await restoredRows(next, Number.MAX_SAFE_INTEGER), rowsOf(next.path));
  assert.deepEqual(rowsOf(next.path), rowsOf(place.path));
});

/** Replaces methods for those who work exclusively from now on. */
function changeSlot(wal: WalControl, change: (slot: ExclusiveWal) => Partial<ExclusiveWal>): void {
  const { exclusively } = wal;
  wal.exclusively = (work) => exclusively((slot) => work({ ...slot, ...change(slot) }));
}

interface Reader {
  pinned?: PinnedSqlite;
}

/** Begins to read before the first checkpoint, and goes on until the reader is disposed. */
function readFromCheckpoint(wal: WalControl, reader: Reader): void {
  changeSlot(wal, (slot) => ({
    checkpoint() {
      reader.pinned ??= pinSqlite(wal.path);
      return slot.checkpoint();
    },
  }));
}

/** Runs work before the archiver begins a new log. */
function beforeEachLog(wal: WalControl, work: () => void): void {
  changeSlot(wal, (slot) => ({
    async begin(mark) {
      if (mark !== undefined) work();
      await slot.begin(mark);
    },
  }));
}

test("logs that another process begins between a checkpoint and the server's next write are archived", async () => {
  await using place = await createPlace();
  let logs = 0;
  const writeElsewhere = () => {
    // Each connection counts the checkpoints that it has seen.
    using database = new DatabaseSync(place.path);
    database.exec("insert into note (text) values ('of another process')");
    logs++;
  };
  await using running = await run(place, {}, (wal) => beforeEachLog(wal, writeElsewhere));
  for (let round = 1; round <= 3; round++) {
    place.clock.advance(SECOND_MS);
    await insert(running.store, 500);
    await until(() => logs >= round);
  }
  await archived(place, running);
  assert.equal((await listBases(place.target)).length, 1);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});

test("a log that a reader still uses when all of it is copied is continued, and then replaced", async () => {
  await using place = await createPlace();
  const reader: Reader = {};
  let logs = 0;
  const prepare = (wal: WalControl) => {
    readFromCheckpoint(wal, reader);
    beforeEachLog(wal, () => logs++);
  };
  await using running = await run(place, {}, prepare);
  await archived(place, running);
  place.clock.advance(SECOND_MS);
  await insert(running.store, 500);
  const salt = async () => (await readFile(`${place.path}-wal`)).toString("hex", 16, 24);
  const used = await salt();
  await until(() => logs >= 1);
  await insert(running.store, 10);
  assert.equal(await salt(), used);
  reader.pinned?.[Symbol.dispose]();
  await until(async () => (await salt()) !== used);
  await archived(place, running);
  assert.equal((await listBases(place.target)).length, 1);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});

test("a log that is too large is not given up while a reader uses it", async () => {
  await using place = await createPlace();
  let isReachable = true;
  const reader: Reader = {};
  const target = targetWhile(place, () => isReachable);
  await using running = await run(place, { target, maxWalBytes: 2_000_000 }, (wal) => readFromCheckpoint(wal, reader));
  await insert(running.store, 10);
  await archived(place, running);
  isReachable = false;
  place.clock.advance(SECOND_MS);
  await insert(running.store, 1000);
  await until(() => reader.pinned !== undefined);
  const { failures } = running.archiver;
  await until(() => running.archiver.failures > failures);
  isReachable = true;
  await archived(place, running);
  reader.pinned?.[Symbol.dispose]();
  assert.equal((await listBases(place.target)).length, 1);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});

/** SQLite makes the header durable before it writes the first frame. */
async function copyLogHeader(from: string, to: string): Promise<void> {
  const header = (await readFile(`${from}-wal`)).subarray(0, 32);
  await using file = await open(`${to}-wal`, "r+");
  await file.write(header, 0, header.length, 0);
}

for (const moment of ["right before", "while", "right after"] as const) {
  test(`a server that was killed ${moment} it began a new log continues the archive`, async () => {
    await using place = await createPlace();
    await using next = await createPlace();
    const killed = Promise.withResolvers<void>();
    const copy = () => cp(place.folder, next.folder, { recursive: true, filter: (path) => !path.endsWith("-shm") });
    const killAtNewLog = (wal: WalControl) =>
      changeSlot(wal, (slot) => ({
        async begin(mark) {
          if (mark === undefined) return slot.begin();
          if (moment !== "right after") await copy();
          await slot.begin(mark);
          if (moment === "right after") await copy();
          if (moment === "while") await copyLogHeader(place.path, next.path);
          killed.resolve();
          // The other server goes on with the copy.
          throw new Error("killed");
        },
      }));
    await using running = await run(place, {}, killAtNewLog);
    await until(() => running.archiver.baseSeconds() !== undefined);
    await insert(running.store, 500);
    await killed.promise;
    // A second base would have another time.
    next.clock.advance(SECOND_MS);
    await using restarted = await run(next);
    await insert(restarted.store, 10);
    await archived(next, restarted);
    assert.equal((await listBases(next.target)).length, 1);
    assert.deepEqual(await restoredRows(next, Number.MAX_SAFE_INTEGER), rowsOf(next.path));
  });
}

test("a log that another program began after the record of the next one takes a new base", async () => {
  await using place = await createPlace();
  const state = join(place.folder, "wal-archive.json");
  {
    await using running = await run(place);
    await until(() => running.archiver.baseSeconds() !== undefined);
    await insert(running.store, 500);
    await until(() => existsSync(state));
    // The base may have the others.
    await insert(running.store, 1);
    await archived(place, running);
  }
  // As if the server had been killed after the record, before the new log began.
  const { after, ...record } = JSON.parse(readFileSync(state, "utf8")) as { after: { salt: string; frame: number }; mark: number };
  const segment = (await listSegments(place.target)).at(-1);
  assert.ok(segment);
  const { to } = await readSegment(place.target, segment);
  await writeFile(state, JSON.stringify({ ...record, after: { ...after, ...to }, mark: record.mark + 1 }));
  {
    using database = new DatabaseSync(place.path);
    database.exec("pragma wal_autocheckpoint = 0; insert into note (text) values ('of another program'); pragma wal_checkpoint(restart)");
    database.exec("insert into note (text) values ('in the next log')");
    for (const name of ["holt.db", "holt.db-wal"]) await copyFile(join(place.folder, name), join(place.folder, `${name}.copy`));
  }
  for (const name of ["holt.db", "holt.db-wal"]) await copyFile(join(place.folder, `${name}.copy`), join(place.folder, name));
  place.clock.advance(SECOND_MS);
  await using running = await run(place);
  await archived(place, running);
  assert.equal((await listBases(place.target)).length, 2);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});

test("writes of another process beside the server are archived", async () => {
  await using place = await createPlace();
  await using running = await run(place);
  for (let round = 0; round < 4; round++) {
    await insert(running.store, 100);
    using database = new DatabaseSync(place.path);
    database.exec("insert into note (text) values ('of another process'); pragma wal_checkpoint(truncate)");
  }
  await archived(place, running);
  assert.equal((await listBases(place.target)).length, 1);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});
