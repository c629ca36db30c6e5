/** `holtd upgrade check`: says what a start of this program would do with the data. Changes nothing. */
import { existsSync, statSync } from "node:fs";
import { sql } from "kysely";
import packageJson from "../../package.json" with { type: "json" };
import { capabilitySet, hexFromCapabilitySet } from "../access/capability-set.ts";
import type { Config } from "../config.ts";
import { canReleasePages, MAX_BYTES_AT_START } from "../db/compact-sqlite.ts";
import { sqlitePath } from "../db/open.ts";
import type { ReadDb } from "../db/store.ts";
import { migrations } from "../domains.ts";
import { builtInRoles } from "../iam/grants/built-in-roles.ts";
import { findSecretsKey } from "../iam/secrets/secrets-key.ts";
import { type Installation, openInstallation } from "./open-installation.ts";

interface Applied {
  readonly version: number;
  readonly name: string;
}

/** Sentences that say what a start would do or refuse. */
export interface UpgradePlan {
  readonly steps: readonly string[];
  readonly refusals: readonly string[];
}

/** Prints the plan. @returns the exit status: 3 if a start would be refused */
export async function upgradeCheck(config: Config): Promise<number> {
  await using installation = await openInstallation(config, { use: "inspection" });
  const { steps, refusals } = await planUpgrade(installation, config);
  console.log(`This is Holt ${packageJson.version}, with schema ${migrations.length}.`);
  for (const refusal of refusals) console.log(`A start is refused: ${refusal}.`);
  for (const step of steps) console.log(step);
  if (refusals.length === 0 && steps.length === 0) console.log("A start changes nothing.");
  return refusals.length > 0 ? 3 : 0;
}

async function planUpgrade(installation: Installation, config: Config): Promise<UpgradePlan> {
  const { store } = installation;
  const { rows: applied } = await sql<Applied>`select version, name from schema_migration order by version`.execute(store.reader);
  const schema = applied.at(-1)?.version ?? 0;
  const refusals: string[] = [];
  if (schema > migrations.length)
    refusals.push(`the data has schema ${schema}, of a newer Holt; start that version, or restore a backup that is older than the upgrade`);
  const foreign = applied.find(({ version, name }) => version <= migrations.length && migrations[version - 1]?.name !== name);
  if (foreign !== undefined)
    refusals.push(`migration ${foreign.version} is "${foreign.name}" in the data, and another one in this program`);
  const key = { store, dataDir: config.dataDir, key: config.secretsKey };
  await findSecretsKey(key).catch((error: Error) => void refusals.push(error.message));
  const pending = migrations.slice(schema).map(({ version, name }) => `Migrates the database to schema ${version}: ${name}.`);
  const backup =
    pending.length === 0 ? [] : ["Make a backup first (holtd backup): the program that wrote the data cannot use it afterwards."];
  return { steps: [...pending, ...backup, ...(await changedRoles(store.reader)), ...compaction(config)], refusals };
}

async function changedRoles(db: ReadDb): Promise<string[]> {
  const stored = await db.selectFrom("role").select(["uid", "capabilities"]).where("parent", "is", null).execute();
  const known = new Map(stored.map(({ uid, capabilities }) => [uid, capabilities]));
  return builtInRoles.flatMap(({ uid, name, capabilities }) => {
    if (!known.has(uid)) return [`Creates the built-in role ${name}.`];
    const hasChanged = known.get(uid) !== hexFromCapabilitySet(capabilitySet(capabilities));
    return hasChanged ? [`Changes the capabilities of the built-in role ${name}, for all identities that have it.`] : [];
  });
}

function compaction({ databaseUrl, dataDir }: Config): string[] {
  const path = sqlitePath(dataDir);
  if (databaseUrl !== "" || !existsSync(path) || canReleasePages(path)) return [];
  const { size } = statSync(path);
  return size > MAX_BYTES_AT_START
    ? ["Leaves the database file uncompacted; see holtd compact."]
    : [`Rewrites the database file of ${size} bytes, so that it can shrink.`];
}
