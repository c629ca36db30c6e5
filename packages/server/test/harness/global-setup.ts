/** Prepares for all test files of a run; `npm test` calls it before the first file and after the last one. */
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { SHARED_POSTGRES, startPostgres, type TestPostgres } from "./postgres.ts";

const COMPILE_CACHE = join(import.meta.dirname, "../../../../node_modules/.cache/tests");

let postgres: TestPostgres | undefined;

/**
 * Starts one PostgreSQL, and lets all processes share the compiled modules. Both cost seconds for each file otherwise.
 * Unpacks Chromium: of two files that start at the same time, one would start what the other has unpacked in part.
 */
export async function globalSetup(): Promise<void> {
  process.env.NODE_COMPILE_CACHE = COMPILE_CACHE;
  // Where this fails, launchChromium prints the reason.
  const unpacked = chromium.executablePath().catch(() => undefined);
  postgres = await startPostgres();
  await unpacked;
  process.env[SHARED_POSTGRES] = postgres.url;
}

export async function globalTeardown(): Promise<void> {
  await postgres?.[Symbol.asyncDispose]();
}
