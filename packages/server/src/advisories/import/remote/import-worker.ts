/** Runs imports that wait, one at a time on each server. */
import { Worker } from "../../../jobs/worker.ts";
import type { ImportRow } from "./import-row.ts";
import type { RunOptions } from "./import-run.ts";

/** How often to look for imports that other servers left behind, and for those that are due at a later time. */
const POLL_MS = 1000;
const RENEW_MS = 2000;

export function startImportWorker(options: RunOptions): Worker<ImportRow> {
  const { queue, log } = options;
  return new Worker<ImportRow>({
    name: "running imports",
    log,
    lease: queue.lease,
    renewMs: RENEW_MS,
    maxRuns: 1,
    keyOf: ({ uid }) => uid,
    async claim() {
      const row = await queue.claim();
      return { claimed: row === undefined ? [] : [row], nextMs: POLL_MS };
    },
    // The libraries of archives are loaded with the first import.
    run: async (row, signal) => (await import("./import-run.ts")).runImport(row, options, signal),
  });
}
