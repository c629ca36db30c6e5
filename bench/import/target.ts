/** Creates an empty database for a command and removes it afterwards. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createDatabase } from "../../packages/server/test/harness/postgres.ts";
import { folder, type StoreName } from "../data/stores.ts";

export interface EmptyTarget extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

export async function emptyTarget(store: StoreName): Promise<EmptyTarget> {
  const dataDir = await mkdtemp(join(folder, "empty-"));
  const HOLT_DATABASE_URL = store === "postgres" ? await createDatabase() : "";
  return {
    env: { HOLT_DATA_DIR: dataDir, HOLT_DATABASE_URL },
    [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true, force: true }),
  };
}
