/** Gives tests databases with the schema of all domains. Copying one costs less than the migrations. */
import { openDatabase } from "../../src/cli/open-installation.ts";
import { migrations } from "../../src/domains.ts";
import { createLog } from "../../src/lib/log.ts";
import { createDatabase, ensureTemplate } from "./postgres.ts";

const TEMPLATE = `schema_${migrations.length}`;
let template: Promise<void> | undefined;

/** Creates a PostgreSQL database with all tables and no rows. @returns its URL */
export async function createMigratedDatabase(): Promise<string> {
  template ??= ensureTemplate(TEMPLATE, async (url) => {
    await using _store = await openDatabase({ url, dataDir: "", log: createLog("silent") });
  });
  await template;
  return createDatabase(TEMPLATE);
}
