/** `holtd export`: writes one organization with everything in it into a folder. */
import packageJson from "../../package.json" with { type: "json" };
import { openTarget, parseTarget } from "../backup/open-target.ts";
import type { Config } from "../config.ts";
import { blobReferences, migrations, organizationTables } from "../domains.ts";
import { createSecrets } from "../iam/secrets/secrets.ts";
import { findSecretsKey } from "../iam/secrets/secrets-key.ts";
import { type ExportResult, exportOrganization } from "../transfer/export-organization.ts";
import { findOrganization } from "./find-organization.ts";
import { createImportReport } from "./import-report.ts";
import { openInstallation } from "./open-installation.ts";
import { withOptions } from "./parse-options.ts";

const USAGE = `Usage: holtd export ORG FOLDER

Writes an organization, named by its uid or name, with everything in it into a
folder, while the server runs or not: its groups, identities, images, libraries,
advisories, events and settings, as they are at one moment. \`holtd import org
FOLDER\` imports it into another server, of SQLite or PostgreSQL. An export that
was interrupted is repeated by the same command, which keeps the blobs that were
copied.

Client secrets of identity providers and secrets of authenticator apps are
sealed with the passphrase HOLT_BACKUP_PASSPHRASE, and left out without one.

Exit status: 0 success, 1 the export failed, 2 usage, 3 the server has lost or
damaged blobs, which the export lacks.`;

const SPEC = { usage: USAGE, options: {}, positionals: 2 } as const;

/** @param args after `export`. @returns the exit status */
export async function exportCommand(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return withOptions(SPEC, args, async ({ positionals: [organization = "", folder = ""] }) => {
    const { exported, problems } = await runExport(organization, folder, await loadConfig());
    printResult(exported, folder);
    if (problems > 0) console.log(`${problems} blobs are lost or damaged on the server and missing in the export.`);
    return problems > 0 ? 3 : 0;
  });
}

async function runExport(named: string, folder: string, config: Config): Promise<ExportResult> {
  const { dataDir, baseUrl, backupPassphrase: passphrase, secretsKey } = config;
  const location = parseTarget(folder, config);
  await using installation = await openInstallation(config, { use: "command", command: `export ${named}` });
  const { store, clock } = installation;
  const organization = await findOrganization(named, store.reader);
  using target = await openTarget(location, "write");
  const key = await findSecretsKey({ store, dataDir, key: secretsKey });
  using report = createImportReport(process.stderr, "blobs");
  return await exportOrganization(
    {
      target,
      store,
      passphrase,
      baseUrl,
      tables: organizationTables,
      references: blobReferences,
      version: packageJson.version,
      schema: migrations.length,
      now: clock.now(),
      blobs: await installation.openBlobs(),
      organization,
      secrets: key === undefined ? undefined : createSecrets(key),
    },
    {
      step: (text) => console.error(text),
      progress: ({ blobs: files, bytes }) => report.progress({ files, bytes, problems: 0 }),
      problem: (text) => report.problem("blobs", text),
    },
  );
}

function printResult({ organization: { uid, name }, tables, blobs, secrets }: ExportResult["exported"], folder: string): void {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  console.log(`Exported ${name} (${uid}) into ${folder}: ${rows} rows and ${blobs.count} blobs of ${blobs.bytes} bytes.`);
  for (const [what, count] of Object.entries(secrets.leftOut))
    console.log(`Left out: ${count} ${what}. Set HOLT_BACKUP_PASSPHRASE to take them along.`);
}
