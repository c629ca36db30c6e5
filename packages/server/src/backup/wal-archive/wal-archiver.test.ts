/** The archive of a write-ahead log: exact states, gaps, damage and retention. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
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
  write,
} from "../../../test/harness/wal-archive.ts";
import { type BackupTarget, NoSuchObject } from "../target.ts";
import { listBases, listSegments, segmentPath } from "./archive-form.ts";
import { readArchiveState } from "./archive-state.ts";
import { planRestore } from "./restore-point.ts";

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

test("while the archive cannot be reached, the server writes, gives up a log that is too large, and takes a new base later", async () => {
  await using place = await createPlace();
  let isReachable = true;
  const target = targetWhile(place, () => isReachable);
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

test("the state of an archive is read again when the server removes a segment meanwhile", async () => {
  await using place = await createPlace();
  await using running = await run(place);
  await archived(place, running);
  await insert(running.store, 1);
  await archived(place, running);
  let removals = 1;
  const target: BackupTarget = {
    ...place.target,
    async read(path) {
      if (path.startsWith("wal/") && removals-- > 0) throw new NoSuchObject(`the backup has no ${path}`);
      return place.target.read(path);
    },
  };
  assert.ok((await readArchiveState(target, place.path)).isCurrent);
  removals = Number.POSITIVE_INFINITY;
  await assert.rejects(readArchiveState(target, place.path), NoSuchObject);
});
