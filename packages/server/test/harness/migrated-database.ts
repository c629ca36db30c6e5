/** Gives tests databases with the schema of all domains. Copying one costs less than the migrations. */
import { existsSync } from "node:fs";
import { copyFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { sqlitePath } from "../../src/db/open.ts";
import { migrations } from "../../src/domains.ts";
import { createLog } from "../../src/lib/log.ts";
import type { StoreName } from "./harness.ts";
import { createDatabase, ensureTemplate } from "./postgres.ts";
import { SHARED_TEMPLATES } from "./shared-templates.ts";

const TEMPLATE = `schema_${migrations.length}`;
let template: Promise<void> | undefined;

/** Creates a PostgreSQL database with all tables and no rows. @returns its URL */
export async function createMigratedDatabase(): Promise<string> {
  template ??= ensureTemplate(TEMPLATE, (url) => migrateDatabase(url, ""));
  await template;
  return createDatabase(TEMPLATE);
}

/**
 * Creates a database with all tables and no rows on PostgreSQL. On SQLite, the data folder of a server is enough.
 * @returns the value of HOLT_DATABASE_URL
 */
export async function createDatabaseOn(store: StoreName): Promise<string> {
  return store === "postgres" ? createMigratedDatabase() : "";
}

/**
 * Puts a SQLite database with all tables and no rows into a data folder. Does nothing for a file that runs alone: whoever opens
 * the database migrates it.
 */
export async function createMigratedSqlite(dataDir: string): Promise<void> {
  const templates = process.env[SHARED_TEMPLATES];
  if (templates === undefined) return;
  const file = join(templates, `${TEMPLATE}.db`);
  if (existsSync(file)) return copyFile(file, sqlitePath(dataDir));
  await migrateDatabase("", dataDir);
  // Other processes find a complete template or none.
  const part = `${file}.${process.pid}`;
  await copyFile(sqlitePath(dataDir), part);
  await rename(part, file);
}

async function migrateDatabase(url: string, dataDir: string): Promise<void> {
  await using _store = await openDatabase({ url, dataDir, log: createLog("silent") });
}
