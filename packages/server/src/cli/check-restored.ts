/** The end of every restore: assigns the blobs to the database, and checks both. */
import { finishRestore } from "../backup/restore-backup.ts";
import type { Config } from "../config.ts";
import { migrations } from "../domains.ts";
import { findSecretsKey } from "../iam/secrets/secrets-key.ts";
import { type Installation, openInstallation } from "./open-installation.ts";
import { verifyInstallation } from "./verify.ts";

/** @param schema number of migrations of the restored data. @returns the exit status */
export async function checkRestored(summary: string, schema: number, config: Config): Promise<number> {
  const { dataDir } = config;
  await using installation = await openInstallation(config, { use: "inspection", command: "restore" });
  await installation.adoptBlobs();
  const problems = await problemsOf(schema, config, installation);
  await finishRestore(dataDir);
  console.log(summary);
  const key = await findSecretsKey({ store: installation.store, dataDir, key: config.secretsKey }).catch(() => "unknown");
  if (key === "unknown")
    console.log(`Before the start, put the secrets key of the old server into ${dataDir}/secrets.key or HOLT_SECRETS_KEY.`);
  return problems > 0 ? 3 : 0;
}

/** The checks need the current schema. Data of an earlier one is checked after the server's start, by `holtd verify`. */
async function problemsOf(schema: number, config: Config, installation: Installation): Promise<number> {
  if (schema < migrations.length) {
    console.log("The next start of the server migrates the database. Run holtd verify after it.");
    return 0;
  }
  const { problems } = await verifyInstallation(installation, config, { readsAll: false, repairs: false });
  return problems;
}
