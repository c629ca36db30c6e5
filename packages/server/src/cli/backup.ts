/** `holtd backup`: writes a backup of a running server. */
import { sql } from "kysely";
import packageJson from "../../package.json" with { type: "json" };
import { type BackupResult, createBackup, pruneBackups } from "../backup/create-backup.ts";
import { createPostgresSource, createSqliteSource } from "../backup/database-source.ts";
import { openTarget, parseTarget } from "../backup/open-target.ts";
import type { ListedBlob } from "../backup/snapshot.ts";
import type { BackupTarget } from "../backup/target.ts";
import { cacheReferences, contentReferences, isReferenced } from "../blobs/references.ts";
import type { Config } from "../config.ts";
import { sqlitePath } from "../db/open.ts";
import type { ReadDb } from "../db/store.ts";
import { readTableShapes } from "../db/table-columns.ts";
import { blobReferences } from "../domains.ts";
import { findSecretsKey } from "../iam/secrets/secrets-key.ts";
import { createImportReport } from "./import-report.ts";
import { type Installation, openInstallation } from "./open-installation.ts";
import { type Given, withOptions } from "./parse-options.ts";

const USAGE = `Usage: holtd backup [--keep N] [--verify-all] TARGET

Writes a backup of the installation into a folder or to s3://bucket/prefix,
while the server runs or not. Each backup has a copy of the whole database.
Backups in one target share the blobs, so that only new blobs are copied. A
backup that was interrupted is repeated by the same command, which keeps the
blobs that were copied. Run one backup at a time.

A bucket is reached with HOLT_S3_ENDPOINT, HOLT_S3_REGION and
HOLT_S3_PATH_STYLE, or with parameters of its own:
s3://bucket/prefix?endpoint=https://s3.example.com&region=eu&path-style=on

The secrets key is sealed with the passphrase HOLT_BACKUP_PASSPHRASE, and left
out without one.

  --keep N       after the backup, remove all but the newest N backups, and the
                 blobs that only those needed
  --verify-all   read all blobs of the backup again, not only the new files

Exit status: 0 success, 1 the backup failed, 2 usage, 3 the server has lost or
damaged blobs, which the backup lacks.`;

const SPEC = { usage: USAGE, options: { keep: { type: "string" }, "verify-all": { type: "boolean" } }, positionals: 1 } as const;

/** @param args after `backup`. @returns the exit status */
export async function backup(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return withOptions(SPEC, args, async (given) => {
    const keep = given.values.keep === undefined ? undefined : Number(given.values.keep);
    if (keep !== undefined && !(Number.isSafeInteger(keep) && keep > 0)) {
      console.error("holtd: --keep must be a number from 1");
      return 2;
    }
    const config = await loadConfig();
    const location = parseTarget(given.positionals[0] ?? "", config);
    await using installation = await openInstallation(config, { use: "inspection", command: "backup" });
    using target = await openTarget(location, "write");
    const result = await runBackup(given, { installation, target }, config);
    printResult(result, target);
    if (keep !== undefined) {
      const { snapshots, blobs } = await pruneBackups(target, keep);
      console.log(`Removed ${snapshots} older backups and ${blobs} blobs that only they needed.`);
    }
    return result.problems > 0 ? 3 : 0;
  });
}

interface BackupWay {
  readonly installation: Installation;
  readonly target: BackupTarget;
}

async function runBackup({ values }: Given, { installation, target }: BackupWay, config: Config): Promise<BackupResult> {
  const { databaseUrl, dataDir, backupPassphrase: passphrase } = config;
  const { store, clock } = installation;
  const blobs = await installation.openBlobs();
  const key = await findSecretsKey({ store, dataDir, key: config.secretsKey });
  using report = createImportReport(process.stderr, "blobs");
  report.begin(await bytesOfBlobs(installation));
  return await createBackup(
    {
      target,
      blobs,
      version: packageJson.version,
      now: clock.now(),
      scratch: dataDir,
      database:
        databaseUrl === "" ? createSqliteSource(sqlitePath(dataDir), blobReferences) : createPostgresSource(databaseUrl, blobReferences),
      presentBlobs: () => presentBlobs(store.reader),
      secretsKey: passphrase === "" || key === undefined ? undefined : { key, passphrase },
      verifiesBlobs: values["verify-all"] === true,
    },
    {
      step: (text) => console.error(text),
      progress: ({ blobs: files, bytes }) => report.progress({ files, bytes, problems: 0 }),
      problem: (text) => report.problem("blobs", text),
    },
  );
}

async function bytesOfBlobs({ store }: Installation): Promise<number> {
  const row = await store.reader
    .selectFrom("blob")
    .select((eb) => eb.fn.sum<number>("size").as("bytes"))
    .executeTakeFirst();
  return Number(row?.bytes ?? 0);
}

const ROWS_PER_PAGE = 1000;

/** All blobs but those of caches. The database may have the schema of an earlier program, which lacks tables. */
async function* presentBlobs(db: ReadDb): AsyncIterable<ListedBlob> {
  const shapes = await readTableShapes(db);
  const known = blobReferences.filter(({ table }) => shapes.has(table));
  const digest = sql.ref("blob.digest");
  const isContent = sql<boolean>`(${isReferenced(contentReferences(known), digest)} or not ${isReferenced(cacheReferences(known), digest)})`;
  for (let after = ""; ; ) {
    const rows = await db
      .selectFrom("blob")
      .select(["digest", "size"])
      .where("digest", ">", after)
      .where(isContent)
      .orderBy("digest")
      .limit(ROWS_PER_PAGE)
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.digest;
  }
}

function printResult({ snapshot, copied, problems }: BackupResult, target: BackupTarget): void {
  const { name, blobs, secretsKey } = snapshot;
  console.log(
    `Backup ${name} in ${target.name}: the database and ${blobs.count} blobs of ${blobs.bytes} bytes, of which ${copied.count} of ${copied.bytes} bytes are new.`,
  );
  if (secretsKey === "left out")
    console.log("The secrets key is not in the backup. Keep a copy of secrets.key or HOLT_SECRETS_KEY, or set HOLT_BACKUP_PASSPHRASE.");
  if (problems > 0) console.log(`${problems} blobs are lost or damaged on the server and missing in the backup.`);
}
