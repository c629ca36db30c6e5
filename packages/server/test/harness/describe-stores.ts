/** Describes tests of the database once per store. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import { openDatabase } from "../../src/cli/open-installation.ts";
import type { Store } from "../../src/db/store.ts";
import { createLog } from "../../src/lib/log.ts";
import { createMigratedDatabase, createMigratedSqlite } from "./migrated-database.ts";

const log = createLog("silent");

/** @param suite defines the tests; each call of `open` opens an empty, migrated database */
export function describeOnStores(title: string, suite: (open: () => Promise<Store>) => void): void {
  describe(`${title} on SQLite`, () => {
    const folders: string[] = [];
    after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));
    suite(async () => {
      const dataDir = await mkdtemp(join(tmpdir(), "holt-store-"));
      folders.push(dataDir);
      await createMigratedSqlite(dataDir);
      return openDatabase({ url: "", dataDir, log });
    });
  });
  describe(`${title} on PostgreSQL`, () => suite(async () => openDatabase({ url: await createMigratedDatabase(), dataDir: "", log })));
}
