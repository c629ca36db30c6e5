/** `holtd restore`: restores a backup into an empty place. */
import { finishRestore, restoreBackup } from "../backup/restore-backup.ts";
import { listSnapshots, readSnapshot, type Snapshot } from "../backup/snapshot.ts";
import type { BackupTarget } from "../backup/target.ts";
import { openBlobFolder } from "../blobs/open-blobs.ts";
import type { Config } from "../config.ts";
import { migrations } from "../domains.ts";
import { findSecretsKey } from "../iam/secrets/secrets-key.ts";
import { createLog } from "../lib/log.ts";
import { createImportReport } from "./import-report.ts";
import { openDatabase, openInstallation } from "./open-installation.ts";
import { openTarget } from "./open-target.ts";
import { withOptions } from "./parse-options.ts";
import { verifyInstallation } from "./verify.ts";

const USAGE = `Usage: holtd restore [--snapshot NAME] [--list] FOLDER

Restores a backup that \`holtd backup\` wrote. HOLT_DATA_DIR must be empty or missing, and so must the tables of
HOLT_DATABASE_URL. A restore that was interrupted is continued by the same command. A database is restored to the kind of
store that it came from. The end of the restore is a check like \`holtd verify --quick\`.

The secrets key is opened with the passphrase HOLT_BACKUP_PASSPHRASE.

  --snapshot NAME   the backup to restore; by default the newest
  --list            only print the names of the backups

Exit status: 0 success, 1 the restore failed, 2 usage, 3 the restored data has problems.`;

const SPEC = { usage: USAGE, options: { snapshot: { type: "string" }, list: { type: "boolean" } }, positionals: 1 } as const;

/** @param args after `restore`. @returns the exit status */
export async function restore(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return withOptions(SPEC, args, async ({ values, positionals }) => {
    const target = await openTarget(positionals[0] ?? "");
    const { complete } = await listSnapshots(target);
    if (values.list === true) {
      for (const name of complete) console.log(name);
      return 0;
    }
    const name = values.snapshot ?? complete.at(-1);
    if (typeof name !== "string" || !complete.includes(name))
      throw new Error(`${target.name} has no complete backup${name ? ` ${name}` : ""}`);
    return runRestore(target, await readSnapshot(target, name), await loadConfig());
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
      ...{ target, snapshot, dataDir, databaseUrl, passphrase },
      openBlobs: () => openBlobFolder(config, log),
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
  return checkRestored(snapshot, config);
}

async function checkRestored(snapshot: Snapshot, config: Config): Promise<number> {
  const { dataDir } = config;
  await using installation = await openInstallation(config, { use: "inspection" });
  await installation.adoptBlobs();
  const problems = await problemsOf(snapshot, config, installation);
  await finishRestore(dataDir);
  console.log(`Restored ${snapshot.name}: the database and ${snapshot.blobs.count} blobs of ${snapshot.blobs.bytes} bytes.`);
  const key = await findSecretsKey({ store: installation.store, dataDir, key: config.secretsKey }).catch(() => "unknown");
  if (key === "unknown")
    console.log(`Before the start, put the secrets key of the old server into ${dataDir}/secrets.key or HOLT_SECRETS_KEY.`);
  return problems > 0 ? 3 : 0;
}

/** The checks need the current schema. Data of an earlier one is checked after the server's start, by `holtd verify`. */
async function problemsOf(snapshot: Snapshot, config: Config, installation: Parameters<typeof verifyInstallation>[0]): Promise<number> {
  if (snapshot.schema < migrations.length) {
    console.log("The next start of the server migrates the database. Run holtd verify after it.");
    return 0;
  }
  const { problems } = await verifyInstallation(installation, config, { readsAll: false, repairs: false });
  return problems;
}
