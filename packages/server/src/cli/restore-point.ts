/** `holtd restore --at`: restores the database of SQLite as it was at a point in time. */
import { openRestoredBlobs } from "../backup/restored-blobs.ts";
import type { BackupTarget } from "../backup/target.ts";
import { type RestoredPoint, restorePoint } from "../backup/wal-archive/restore-archive.ts";
import type { Config } from "../config.ts";
import { migrations } from "../domains.ts";
import { createLog } from "../lib/log.ts";
import { checkRestored } from "./check-restored.ts";

/** RFC 3339, with a zone: a time without one would depend on the machine. */
const TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;
const SEGMENTS_PER_LINE = 1000;

/** @returns the exit status */
export async function runPointRestore(target: BackupTarget, time: string, config: Config): Promise<number> {
  const { dataDir, databaseUrl, backupPassphrase: passphrase } = config;
  if (databaseUrl !== "")
    throw new Error("--at restores SQLite; HOLT_DATABASE_URL must be empty. PostgreSQL has its own tools for a point in time");
  const at = time === "latest" ? Number.MAX_SAFE_INTEGER : TIME.test(time) ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(at)) throw new Error(`--at must be a time with its zone, such as 2027-01-31T09:30:00Z, or latest, and not "${time}"`);
  const log = createLog("warn");
  const restored = await restorePoint(
    { target, at, dataDir, passphrase, schema: migrations.length, openBlobs: () => openRestoredBlobs(config, log) },
    {
      segment(done, total) {
        if (done % SEGMENTS_PER_LINE === 0 || done === total) console.error(`applied ${done} of ${total} segments`);
      },
      blob() {},
    },
  );
  console.error("verifying");
  return checkRestored(summaryOf(restored), restored.plan.base.schema, config);
}

function summaryOf({ plan, blobs: { present, copied, missing } }: RestoredPoint): string {
  const text = (time: number) => new Date(time).toISOString();
  const gap =
    plan.gapUntil === undefined
      ? ""
      : `\nThe archive has no changes between ${text(plan.time)} and ${text(plan.gapUntil)}: a restore to the latter has more.`;
  return `Restored the database as of ${text(plan.time)}, its last change. Blobs: ${present} were there, ${copied} came from backups, ${missing} are missing.${gap}`;
}
