/** Checks that the archive of SQLite's write-ahead log can be reached and is complete. */
import { setTimeout as sleep } from "node:timers/promises";
import { openTarget, parseTarget } from "../../backup/open-target.ts";
import { type ArchiveState, readArchiveState } from "../../backup/wal-archive/archive-state.ts";
import type { Config } from "../../config.ts";
import { sqlitePath } from "../../db/open.ts";
import { type Problem, problemsOf } from "./problem.ts";

/** A server makes one each day. */
const MAX_BASE_AGE_MS = 48 * 3_600_000;
/** A running server archives each change within a second. */
const TRIES = 6;
const PAUSE_MS = 500;

export async function checkWalArchive(config: Config): Promise<Problem[]> {
  const { walArchive } = config;
  if (walArchive === "") return [];
  try {
    using target = await openTarget(parseTarget(walArchive, config), "read");
    let state = await readArchiveState(target, sqlitePath(config.dataDir));
    for (let tries = 1; !state.isCurrent && tries < TRIES; tries++) {
      await sleep(PAUSE_MS);
      state = await readArchiveState(target, sqlitePath(config.dataDir));
    }
    return problemsOfState(state, target.name);
  } catch (error) {
    const remedy = "check HOLT_WAL_ARCHIVE, its credentials and permissions, and that this machine can reach it";
    return [{ check: "archive", problem: `the archive of the write-ahead log cannot be read: ${(error as Error).message}`, remedy }];
  }
}

function problemsOfState({ baseTime, isCurrent }: ArchiveState, name: string): Problem[] {
  const isOld = baseTime !== undefined && Date.now() - baseTime > MAX_BASE_AGE_MS;
  const remedy = 'start the server, and look for "archiving" in its log';
  return problemsOf("archive", [
    [baseTime === undefined, `${name} has no copy of the database, so nothing can be restored from it`, remedy],
    [isOld, `the newest copy of the database in ${name} is of ${new Date(baseTime ?? 0).toISOString()}`, remedy],
    [baseTime !== undefined && !isCurrent, `${name} lacks the latest changes`, remedy],
  ]);
}
