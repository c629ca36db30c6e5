/** `holtd restore`: restores a backup into an empty place. */

import { openTarget, parseTarget } from "../backup/open-target.ts";
import { restoreBackup } from "../backup/restore-backup.ts";
import { openRestoredBlobs } from "../backup/restored-blobs.ts";
import { listSnapshots, readSnapshot, type Snapshot } from "../backup/snapshot.ts";
import type { BackupTarget } from "../backup/target.ts";
import type { Config } from "../config.ts";
import { migrations } from "../domains.ts";
import { createLog } from "../lib/log.ts";
import { checkRestored } from "./check-restored.ts";
import { createImportReport } from "./import-report.ts";
import { openDatabase } from "./open-installation.ts";
import { withOptions } from "./parse-options.ts";
import { runPointRestore } from "./restore-point.ts";

const USAGE = `Usage: holtd restore [--snapshot NAME | --at TIME] [--list] TARGET

Restores a backup that \`holtd backup\` wrote to a folder or to
s3://bucket/prefix. HOLT_DATA_DIR must be empty or missing, and so must the
tables of HOLT_DATABASE_URL and the bucket of HOLT_BLOBS, which gets the blobs
directly. A restore that was interrupted is continued by the same command. A
database is restored to the kind of store that it came from. The end of the
restore is a check like \`holtd verify --quick\`.

With --at, the target is an archive that a server with HOLT_WAL_ARCHIVE wrote,
and the database of SQLite is restored as it was at that time. The bucket of
HOLT_BLOBS may have content. Blobs that are not there are copied from the
backups of the target, if it has any.

The secrets key is opened with the passphrase HOLT_BACKUP_PASSPHRASE.

  --snapshot NAME   the backup to restore; by default the newest
  --at TIME         a time such as 2027-01-31T09:30:00Z, or latest
  --list            only print the names of the backups

Exit status: 0 success, 1 the restore failed, 2 usage, 3 the restored data has
problems.`;

const SPEC = {
  usage: USAGE,
  options: { snapshot: { type: "string" }, at: { type: "string" }, list: { type: "boolean" } },
  positionals: 1,
} as const;

/** @param args after `restore`. @returns the exit status */
export async function restore(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return withOptions(SPEC, args, async ({ values, positionals }) => {
    const config = await loadConfig();
    using target = await openTarget(parseTarget(positionals[0] ?? "", config), "read");
    if (typeof values.at === "string") return await runPointRestore(target, values.at, config);
    const { complete } = await listSnapshots(target);
    if (values.list === true) {
      for (const name of complete) console.log(name);
      if (complete.length === 0) console.error(`${target.name} has no complete backup`);
      return 0;
    }
    const name = values.snapshot ?? complete.at(-1);
    if (typeof name !== "string" || !complete.includes(name))
      throw new Error(`${target.name} has no complete backup${name ? ` ${name}` : ""}`);
    return await runRestore(target, await readSnapshot(target, name), config);
  });
}

async function runRestore(target: BackupTarget, snapshot: Snapshot, config: Config): Promise<number> {
  if (snapshot.schema > migrations.length)
    throw new Error(
      `the backup is of a newer Holt (${snapshot.version}, schema ${snapshot.schema}); this program knows ${migrations.length}`,
    );
  const { dataDir, databaseUrl, backupPassphrase: passphrase } = config;
  const log = createLog("warn");
  using report = createImportReport(process.stderr, "blobs");
  report.begin(snapshot.blobs.bytes);
  const seen = { files: 0, bytes: 0, problems: 0 };
  await restoreBackup(
    {
      target,
      snapshot,
      dataDir,
      databaseUrl,
      passphrase,
      openBlobs: () => openRestoredBlobs(config, log),
      async createTables(schema) {
        await using _store = await openDatabase({ url: databaseUrl, dataDir, log }, schema);
      },
    },
    ({ size }) => {
      seen.files++;
      seen.bytes += size;
      report.progress(seen);
    },
  );
  console.error("verifying");
  const { name, schema, blobs } = snapshot;
  return await checkRestored(`Restored ${name}: the database and ${blobs.count} blobs of ${blobs.bytes} bytes.`, schema, config);
}
