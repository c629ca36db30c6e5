/** Prepares for all test files of a run; `npm test` calls it before the first file and after the last one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { SHARED_POSTGRES, startPostgres, type TestPostgres } from "./postgres.ts";
import { SHARED_TEMPLATES } from "./shared-templates.ts";

const COMPILE_CACHE = join(import.meta.dirname, "../../../../node_modules/.cache/tests");

let postgres: TestPostgres | undefined;
let templates: string | undefined;

/**
 * Starts one PostgreSQL, and lets all processes share the compiled modules and a migrated SQLite database. They cost seconds
 * for each file otherwise.
 * Unpacks Chromium: of two files that start at the same time, one would start what the other has unpacked in part.
 */
export async function globalSetup(): Promise<void> {
  process.env.NODE_COMPILE_CACHE = COMPILE_CACHE;
  // Where this fails, launchChromium prints the reason.
  const unpacked = chromium.executablePath().catch(() => undefined);
  postgres = await startPostgres();
  templates = await mkdtemp(join(tmpdir(), "holt-templates-"));
  await unpacked;
  process.env[SHARED_POSTGRES] = postgres.url;
  process.env[SHARED_TEMPLATES] = templates;
}

export async function globalTeardown(): Promise<void> {
  await postgres?.[Symbol.asyncDispose]();
  if (templates !== undefined) await rm(templates, { recursive: true });
}
