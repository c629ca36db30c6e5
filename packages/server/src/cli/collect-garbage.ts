/** The command that removes content that no image needs. It works on the server's database, also while the server runs. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config.ts";
import { blobReferences } from "../domains.ts";
import { type CollectionReport, type Collector, createCollector } from "../registry/collection/gc.ts";
import type { Garbage } from "../registry/collection/walk-phases.ts";
import { createUploads } from "../registry/content/uploads.ts";
import { openInstallation } from "./open-installation.ts";

/**
 * Prints a line for each thing that is removed, or with `isDryRun` would be, and a summary. Waits while the running server collects.
 * @returns exit status: 1 if blobs could not be deleted
 */
export async function collectGarbage(config: Config, isDryRun: boolean): Promise<number> {
  const { gcGraceMs: graceMs } = config;
  await using installation = await openInstallation(config, { use: "command", command: isDryRun ? "gc --dry-run" : "gc" });
  const { store, clock, log } = installation;
  const blobs = await installation.openBlobs();
  const uploads = createUploads({ store, blobs, clock, graceMs });
  const collector = createCollector({ store, blobs, references: blobReferences, uploads, clock, log, graceMs });
  const report = isDryRun ? await collector.preview(printGarbage) : await runWhenFree(collector);
  const { manifests, links, blobs: count, bytes, uploads: begun } = report;
  const counts = `${manifests} manifests, ${links} links to blobs, ${count} blobs of ${bytes} bytes, ${begun} interrupted uploads`;
  console.log(isDryRun ? `Would remove ${counts}.` : `Removed ${counts}.`);
  if (report.failures === 0) return 0;
  console.error(`${report.failures} blobs could not be deleted; the log above has the reasons, and the next run tries again`);
  return 1;
}

const RETRY_MS = 500;

async function runWhenFree(collector: Collector): Promise<CollectionReport> {
  for (let isWaiting = false; ; isWaiting = true) {
    const report = await collector.run(undefined, printGarbage);
    if (report !== undefined) return report;
    if (!isWaiting) console.error("waiting for a running collection");
    await sleep(RETRY_MS);
  }
}

function printGarbage(garbage: Garbage): void {
  if (garbage.kind === "upload") console.log(`upload ${garbage.uid}`);
  else if (garbage.kind === "blob") console.log(`blob ${garbage.digest} ${garbage.size}`);
  else console.log(`${garbage.kind} ${garbage.repoUid} ${garbage.digest}`);
}
