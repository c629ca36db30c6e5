/** Creates a database for a command, which a server has started on once, and removes it afterwards. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createDatabase } from "../../packages/server/test/harness/postgres.ts";
import { folder, type StoreName } from "../data/stores.ts";
import { startHolt } from "../process.ts";

export interface EmptyTarget extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

export async function emptyTarget(store: StoreName): Promise<EmptyTarget> {
  const dataDir = await mkdtemp(join(folder, "empty-"));
  const HOLT_DATABASE_URL = store === "postgres" ? await createDatabase() : "";
  await (await startHolt({ url: HOLT_DATABASE_URL, dataDir }))[Symbol.asyncDispose]();
  return {
    env: { HOLT_DATA_DIR: dataDir, HOLT_DATABASE_URL },
    [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true, force: true }),
  };
}
