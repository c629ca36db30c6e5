/** `holtd import org`: imports an organization that `holtd export` wrote. */
import { existsSync } from "node:fs";
import { seal } from "../auditing/chain/seal.ts";
import { openTarget, parseTarget } from "../backup/open-target.ts";
import type { BackupTarget } from "../backup/target.ts";
import type { Config } from "../config.ts";
import { lockDataFolder } from "../db/data-folder-lock.ts";
import { sqlitePath } from "../db/open.ts";
import { blobReferences, countedRows, migrations, organizationTables } from "../domains.ts";
import { reservePositions } from "../events/delivery/publish.ts";
import type { ExportedOrganization } from "../transfer/export-format.ts";
import { type ImportResult, importOrganization, readExport } from "../transfer/import-organization.ts";
import { openTransferKey } from "../transfer/sealed-values.ts";
import { createImportReport } from "./import-report.ts";
import { type Installation, openInstallation } from "./open-installation.ts";
import { type Given, withOptions } from "./parse-options.ts";
import { verifyInstallation } from "./verify.ts";

const USAGE = `Usage: holtd import org [--without-secrets] FOLDER

Imports an organization that \`holtd export\` wrote, with its uids and times,
into a server that has none of its uids. Both servers must have the same schema.
With SQLite the server must be stopped; with PostgreSQL servers may run. All
rows are imported in one transaction. An import that was interrupted is repeated
by the same command, which keeps the blobs that were copied. The end of the
import is a check like \`holtd verify --quick\`.

Secrets are opened with the passphrase HOLT_BACKUP_PASSPHRASE.

  --without-secrets   leave the sealed secrets out

Exit status: 0 success, 1 the import failed, 2 usage, 3 the server has problems
after the import.`;

const SPEC = { usage: USAGE, options: { "without-secrets": { type: "boolean" } }, positionals: 1 } as const;

/** @param args after `import org`. @returns the exit status */
export async function importOrganizationCommand(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return withOptions(SPEC, args, async ({ values, positionals: [folder = ""] }) => {
    const config = await loadConfig();
    using target = await openTarget(parseTarget(folder, config), "read");
    const exported = await readExport(target);
    const transferKey = transferKeyOf(exported, values, config);
    using _lock = lockSqlite(config);
    await using installation = await openInstallation(config, { use: "bulk", command: "import org" });
    // A server that had the organization before compares the entries of its chain.
    await sealAll(installation);
    const result = await runImport({ target, exported, transferKey }, config, installation);
    // The checkpoints in the export prove the entries only once they are sealed.
    await sealAll(installation);
    printResult(exported, result);
    console.error("verifying");
    const { problems } = await verifyInstallation(installation, config, { readsAll: false, repairs: false });
    return problems > 0 ? 3 : 0;
  });
}

async function sealAll({ store, clock }: Installation): Promise<void> {
  while (await seal(store, clock));
}

interface Source {
  readonly target: BackupTarget;
  readonly exported: ExportedOrganization;
  readonly transferKey: Uint8Array | undefined;
}

async function runImport(source: Source, config: Config, installation: Installation): Promise<ImportResult> {
  const { store, grants } = installation;
  // Bindings refer to the built-in roles of this version.
  await installation.bootstrap();
  using report = createImportReport(process.stderr, "blobs");
  report.begin(source.exported.blobs.bytes);
  return await importOrganization(
    {
      ...source,
      store,
      tables: organizationTables,
      references: blobReferences,
      countedRows,
      reservePositions,
      baseUrl: config.baseUrl,
      schema: migrations.length,
      blobs: await installation.openBlobs(),
      secrets: await installation.openSecrets(),
      onImported: (db) => grants.recordChange(db, "*"),
    },
    {
      step: (text) => console.error(text),
      progress: ({ blobs: files, bytes }) => report.progress({ files, bytes, problems: 0 }),
      problem: (text) => report.problem("blobs", text),
    },
  );
}

function transferKeyOf({ secrets }: ExportedOrganization, values: Given["values"], config: Config): Uint8Array | undefined {
  if (secrets.key === null || values["without-secrets"] === true) return undefined;
  if (config.backupPassphrase !== "") return openTransferKey(secrets.key, config.backupPassphrase);
  throw new Error("the export has sealed secrets: set HOLT_BACKUP_PASSPHRASE to the passphrase of the export, or give --without-secrets");
}

/** A running server would not notice the change of rights. @throws Error for the operator while a server runs */
function lockSqlite({ databaseUrl, dataDir }: Config): Disposable | undefined {
  // A data folder without a database is a mistyped setting, and must not be created.
  if (databaseUrl !== "" || !existsSync(sqlitePath(dataDir))) return undefined;
  return lockDataFolder(dataDir, "stop it first: an import into SQLite needs the database for itself");
}

function printResult(
  { organization: { uid, name }, blobs, positions }: ExportedOrganization,
  { rows, present, leftOut }: ImportResult,
): void {
  console.log(`Imported ${name} (${uid}): ${rows} rows and ${blobs.count} blobs of ${blobs.bytes} bytes.`);
  if (present > 0)
    console.log(`${present} rows that organizations share, or that the audit log has, were here already and stay as they are.`);
  for (const [what, count] of leftOut) console.log(`Left out: ${count} ${what}.`);
  if (positions !== null)
    console.log("Its subscriptions deliver from here from now on. Stop those of the other server, or delete them there.");
  console.log(`If nobody can sign in as its owner here, run: holtd recover ${uid}`);
}
