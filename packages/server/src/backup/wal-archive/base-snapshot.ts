/** Writes a copy of the whole database into the archive of its write-ahead log. */
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { createZstdCompress } from "node:zlib";
import { type PinnedSqlite, pinSqlite } from "../../db/sqlite-copy.ts";
import type { WalPosition } from "../../db/wal-file.ts";
import { pipeThrough } from "../../lib/pipe-through.ts";
import { writeHashed } from "../snapshot.ts";
import type { BackupTarget } from "../target.ts";
import { BASE_FILE, type Base, basePath, FORMAT } from "./archive-form.ts";
import type { ArchiveTime } from "./archive-time.ts";
import type { WalReader } from "./wal-reader.ts";

/** A state of the database and its position in the log. */
export interface PinnedState {
  readonly pinned: PinnedSqlite;
  readonly position: WalPosition;
  readonly time: number;
}

/** Call it while this process does not write. Other processes may: then it tries again. */
export async function pinState(path: string, reader: WalReader, time: ArchiveTime): Promise<PinnedState> {
  for (;;) {
    await reader.look();
    const position = reader.seen;
    const pinned = pinSqlite(path);
    try {
      await reader.look();
    } catch (error) {
      pinned[Symbol.dispose]();
      throw error;
    }
    if (reader.seen === position) return { pinned, position, time: time.now() };
    pinned[Symbol.dispose]();
  }
}

export interface BaseParts {
  readonly target: BackupTarget;
  /** Path of a temporary file. */
  readonly scratch: string;
  readonly version: string;
  readonly schema: number;
}

export async function writeBase(
  { pinned }: PinnedState,
  place: Pick<Base, "chain" | "nextSegment" | "position" | "time">,
  { target, scratch, version, schema }: BaseParts,
): Promise<void> {
  await removeFile(scratch);
  try {
    {
      using state = pinned;
      await state.copyTo(scratch, () => {});
    }
    const compressed = pipeThrough(createReadStream(scratch), createZstdCompress());
    const { size, sha256 } = await writeHashed(target, basePath(place.time, BASE_FILE), compressed);
    const base: Base = { format: FORMAT, ...place, size, sha256, version, schema };
    await target.write(basePath(place.time, "base.json"), Readable.from([Buffer.from(`${JSON.stringify(base, null, 2)}\n`)]));
  } finally {
    await removeFile(scratch);
  }
}

async function removeFile(path: string): Promise<void> {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) await rm(path + suffix, { force: true });
}
