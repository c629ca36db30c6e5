/** The archive of a write-ahead log: exact states, restarts, gaps, damage and retention. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { copyFile, cp, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { sql } from "kysely";
import { createManualClock, type ManualClock } from "../../../test/harness/manual-clock.ts";
import { until } from "../../../test/harness/wait.ts";
import { openSqlite } from "../../db/sqlite.ts";
import { problemsOfSqlite } from "../../db/sqlite-copy.ts";
import type { Store } from "../../db/store.ts";
import type { ExclusiveWal, WalControl } from "../../db/wal-control.ts";
import { createLog } from "../../lib/log.ts";
import { openFolderTarget } from "../folder-target.ts";
import type { BackupTarget } from "../target.ts";
import { listBases, listSegments, readSegment, segmentPath } from "./archive-form.ts";
import { readArchiveState } from "./archive-state.ts";
import { planRestore, restoreDatabase } from "./restore-point.ts";
import { WalArchiver, type WalArchiverOptions } from "./wal-archiver.ts";

const log = createLog("silent");
const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

interface Place extends AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  readonly clock: ManualClock;
  readonly target: BackupTarget;
}

async function createPlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "holt-wal-"));
  const target = await openFolderTarget(join(folder, "archive"));
  const path = join(folder, "holt.db");
  return { folder, path, clock: createManualClock(), target, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

interface Running extends AsyncDisposable {
  readonly store: Store;
  readonly archiver: WalArchiver;
}

/** @param prepare gets the control of the log before the archiver does */
async function run(place: Place, options: Partial<WalArchiverOptions> = {}, prepare = (_wal: WalControl): void => {}): Promise<Running> {
  const { folder: dataDir, path, clock, target } = place;
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openSqlite(path, log, { keepsWal: true }));
  const { wal } = store;
  assert.ok(wal);
  prepare(wal);
  await write(store, "create table if not exists note (id integer primary key, text text)");
  const common = { target, wal, dataDir, clock, log, version: "0", schema: 1, retentionMs: 1000 * HOUR_MS };
  const archiver = stack.use(await WalArchiver.start({ ...common, ...options }));
  const owned = stack.move();
  return { store, archiver, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function write(store: Store, statement: string): Promise<void> {
  await store.transaction((db) => sql.raw(statement).execute(db));
}

async function insert(store: Store, rows: number): Promise<void> {
  for (let i = 0; i < rows; i++) await write(store, "insert into note (text) values (hex(randomblob(3000)))");
}

/** Everything is in the archive, and a base. */
async function archived({ target, path }: Place, { archiver }: Running): Promise<void> {
  await until(async () => archiver.baseSeconds() !== undefined && (await readArchiveState(target, path)).isCurrent);
}

function rowsOf(path: string): unknown[] {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare("select id, text from note order by id").all();
}

async function restoredRows({ target, folder }: Place, at: number): Promise<unknown[]> {
  const path = join(folder, "restored.db");
  await restoreDatabase(target, await planRestore(target, at), path, () => {});
  assert.deepEqual(problemsOfSqlite(path), []);
  const rows = rowsOf(path);
  await rm(path);
  return rows;
}

test("a database over several write-ahead logs restores to exactly the state of each moment", async () => {
  await using place = await createPlace();
  const { clock, path } = place;
  const moments: { time: number; rows: unknown[] }[] = [];
  await using running = await run(place, { baseEveryMs: 3 * SECOND_MS });
  for (let i = 0; i < 6; i++) {
    clock.advance(SECOND_MS);
    await insert(running.store, 150);
    if (i === 3) await write(running.store, "delete from note where id % 3 = 0");
    if (i === 4) await write(running.store, "update note set text = text || 'x'");
    await archived(place, running);
    moments.push({ time: clock.now().getTime(), rows: rowsOf(path) });
  }
  const sequences = new Set((await listSegments(place.target)).map(({ chain }) => chain));
  assert.equal(sequences.size, 1);
  assert.ok((await listBases(place.target)).length > 1);
  const [first] = moments;
  for (const { time, rows } of moments) {
    assert.deepEqual(await restoredRows(place, time), rows);
    assert.deepEqual(await restoredRows(place, time + SECOND_MS - 1), rows);
  }
  await assert.rejects(planRestore(place.target, (first?.time ?? 0) - 2 * SECOND_MS), /the archive begins at/);
  using database = new DatabaseSync(path, { readOnly: true });
  const size = (await readFile(`${path}-wal`)).length;
  assert.ok(size < 20_000_000, "the log is begun anew");
  database.close();
});

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

/** Runs work before the new logs of an archiver. */
function beforeEachLog(wal: WalControl, work: () => Promise<void>): void {
  const { exclusively } = wal;
  const begin = async (slot: ExclusiveWal, mark: number | undefined) => {
    if (mark !== undefined) await work();
    await slot.begin(mark);
  };
  wal.exclusively = (run) => exclusively((slot) => run({ ...slot, begin: (mark) => begin(slot, mark) }));
}

test("logs that another process begins between a checkpoint and the server's next write are archived", async () => {
  await using place = await createPlace();
  let logs = 0;
  const writeElsewhere = async () => {
    // Each connection counts the checkpoints that it has seen.
    using database = new DatabaseSync(place.path);
    database.exec("insert into note (text) values ('of another process')");
    logs++;
  };
  await using running = await run(place, {}, (wal) => beforeEachLog(wal, writeElsewhere));
  for (let round = 1; round <= 3; round++) {
    place.clock.advance(SECOND_MS);
    await insert(running.store, 500);
    await until(() => logs === round);
  }
  await archived(place, running);
  assert.equal((await listBases(place.target)).length, 1);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
});

test("a log that a reader still uses when all of it is copied is continued, and then replaced", async () => {
  await using place = await createPlace();
  const readers: DatabaseSync[] = [];
  const hold = (database: DatabaseSync) => {
    database.exec("begin");
    database.prepare("select count(*) from note").get();
    readers.push(database);
  };
  let logs = 0;
  const readDuringCheckpoint = (wal: WalControl) => {
    const { exclusively } = wal;
    const checkpoint = async (slot: ExclusiveWal) => {
      if (readers.length === 0) hold(new DatabaseSync(place.path, { readOnly: true }));
      return slot.checkpoint();
    };
    wal.exclusively = (run) => exclusively((slot) => run({ ...slot, checkpoint: () => checkpoint(slot) }));
    beforeEachLog(wal, async () => void logs++);
  };
  await using running = await run(place, {}, readDuringCheckpoint);
  await archived(place, running);
  place.clock.advance(SECOND_MS);
  await insert(running.store, 500);
  const salt = async () => (await readFile(`${place.path}-wal`)).toString("hex", 16, 24);
  const used = await salt();
  await until(() => logs === 1);
  await insert(running.store, 10);
  assert.equal(await salt(), used);
  for (const database of readers) database.close();
  await until(async () => (await salt()) !== used);
  await archived(place, running);
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
    const killAtNewLog = (wal: WalControl) => {
      const { exclusively } = wal;
      const begin = async (slot: ExclusiveWal, mark: number | undefined) => {
        if (mark === undefined) return slot.begin();
        if (moment !== "right after") await copy();
        await slot.begin(mark);
        if (moment === "right after") await copy();
        if (moment === "while") await copyLogHeader(place.path, next.path);
        killed.resolve();
        // The other server goes on with the copy.
        throw new Error("killed");
      };
      wal.exclusively = (work) => exclusively((slot) => work({ ...slot, begin: (mark) => begin(slot, mark) }));
    };
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

test("a segment that was stored although its write failed does not hide the changes that followed", async () => {
  await using place = await createPlace();
  let isLost = false;
  const target: BackupTarget = {
    ...place.target,
    async write(path, content) {
      await place.target.write(path, content);
      if (path.startsWith("wal/") && isLost) throw new Error("the connection was cut");
    },
  };
  await using running = await run(place, { target });
  await archived(place, running);
  isLost = true;
  const { failures } = running.archiver;
  for (let i = 1; i <= 3; i++) {
    place.clock.advance(SECOND_MS);
    await insert(running.store, 1);
    await until(() => running.archiver.failures >= failures + i);
  }
  isLost = false;
  await insert(running.store, 1);
  await archived(place, running);
  const numbers = (await listSegments(place.target)).map(({ number }) => number);
  assert.ok(new Set(numbers).size < numbers.length, "a segment was stored twice");
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

test("while the archive cannot be reached, the server writes, gives up a log that is too large, and takes a new base later", async () => {
  await using place = await createPlace();
  let isReachable = true;
  const target: BackupTarget = {
    ...place.target,
    write: async (path, content) => {
      if (isReachable) return place.target.write(path, content);
      content.destroy();
      throw new Error("unreachable");
    },
  };
  await using running = await run(place, { target, maxWalBytes: 2_000_000 });
  await insert(running.store, 10);
  await archived(place, running);
  const before = rowsOf(place.path);
  isReachable = false;
  place.clock.advance(SECOND_MS);
  await insert(running.store, 1000);
  place.clock.advance(SECOND_MS);
  assert.ok(running.archiver.lagSeconds() >= 1);
  await until(() => running.archiver.baseSeconds() === undefined);
  assert.ok(running.archiver.failures > 0);
  isReachable = true;
  place.clock.advance(SECOND_MS);
  await archived(place, running);
  assert.deepEqual(await restoredRows(place, Number.MAX_SAFE_INTEGER), rowsOf(place.path));
  const [, later] = await listBases(place.target);
  const plan = await planRestore(place.target, (later?.time ?? 0) - 1);
  assert.equal(plan.gapUntil, later?.time);
  assert.deepEqual(await restoredRows(place, (later?.time ?? 0) - 1), before);
});

test("a damaged segment and a missing one are named, with the time that can be restored", async () => {
  await using place = await createPlace();
  {
    await using running = await run(place);
    for (let i = 0; i < 4; i++) {
      place.clock.advance(SECOND_MS);
      await insert(running.store, 2);
      await archived(place, running);
    }
  }
  const segments = await listSegments(place.target);
  const damaged = segments.at(-2);
  assert.ok(damaged);
  const path = segmentPath(damaged);
  const file = join(place.folder, "archive", path);
  const bytes = await readFile(file);
  await writeFile(file, Buffer.from(bytes).fill(0, bytes.length - 10));
  const error = await restoredRows(place, Number.MAX_SAFE_INTEGER).catch((cause: Error) => cause);
  assert.ok(error instanceof Error);
  assert.ok(error.message.startsWith(`the segment ${path} of the archive is damaged; the time `), error.message);
  const time = Date.parse(/the time (\S+) can/.exec(error.message)?.[1] ?? "");
  assert.ok((await restoredRows(place, time)).length > 0);
  await rm(file);
  await assert.rejects(
    planRestore(place.target, Number.MAX_SAFE_INTEGER),
    new RegExp(`segment ${path.replace(/-\d+$/, "")} of the archive is missing`),
  );
  assert.deepEqual(
    (await readdir(place.folder)).filter((name) => name.endsWith(".restoring")),
    [],
    "a failed restore leaves nothing",
  );
});

test("the archive keeps what restores within the retention need, and no more", async () => {
  await using place = await createPlace();
  const { clock, target } = place;
  await using running = await run(place, { baseEveryMs: HOUR_MS, retentionMs: 3 * HOUR_MS });
  const states: { time: number; rows: unknown[] }[] = [];
  for (let hour = 0; hour < 8; hour++) {
    await insert(running.store, 3);
    await until(
      async () =>
        (running.archiver.baseSeconds() ?? 0) * 1000 >= clock.now().getTime() && (await readArchiveState(target, place.path)).isCurrent,
    );
    states.push({ time: clock.now().getTime(), rows: rowsOf(place.path) });
    clock.advance(HOUR_MS);
  }
  const now = clock.now().getTime();
  // The last base is followed by the last removal, which removes bases before segments.
  await until(async () => {
    const [oldest] = await listBases(target);
    const segments = await listSegments(target);
    return oldest !== undefined && oldest.time > now - 4 * HOUR_MS && segments.every(({ number }) => number >= oldest.nextSegment);
  });
  const bases = await listBases(target);
  assert.ok(bases.length <= 5);
  const [oldest] = bases;
  assert.ok(oldest && oldest.time <= now - 3 * HOUR_MS);
  assert.ok((await listSegments(target)).every(({ number }) => number >= oldest.nextSegment));
  for (const { time, rows } of states) if (time >= now - 3 * HOUR_MS) assert.deepEqual(await restoredRows(place, time), rows);
});
