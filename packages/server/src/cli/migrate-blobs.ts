/** The command that moves blobs between a folder and a bucket, while servers run. */
import { migrateBlobs } from "../blobs/migrate-blobs.ts";
import type { Config } from "../config.ts";
import type { Store } from "../db/store.ts";
import { openInstallation } from "./open-installation.ts";

/** @returns the exit status: 1 if something has to be done before HOLT_BLOBS_FALLBACK can be removed */
export async function migrate(config: Config): Promise<number> {
  await using installation = await openInstallation(config, { use: "command", command: "blobs migrate" });
  const { blobs: to, fallback: from } = await installation.openBlobPlaces();
  if (from === undefined)
    throw new Error("HOLT_BLOBS_FALLBACK is not set: it names the place to copy from, and HOLT_BLOBS the place to copy to");
  const { copied, bytes, present, damaged, unfinished } = await migrateBlobs({
    from,
    to,
    recordedSize: (digest) => recordedSize(installation.store, digest),
    log: installation.log,
    onCopied: (digest, size) => console.log(`${digest} ${size}`),
  });
  console.log(`Copied ${copied} blobs of ${bytes} bytes; ${present} blobs were there.`);
  for (const digest of damaged) console.error(`${digest} is damaged and was not copied; push the content again`);
  if (unfinished > 0)
    console.error(`${unfinished} uploads and imports are still in the old place; run the command again when they have ended`);
  if (damaged.length + unfinished > 0) return 1;
  console.log("All blobs are in the new place: remove HOLT_BLOBS_FALLBACK from the settings of all servers.");
  return 0;
}

async function recordedSize({ reader }: Store, digest: string): Promise<number | undefined> {
  const row = await reader.selectFrom("blob").select("size").where("digest", "=", digest).executeTakeFirst();
  return row && Number(row.size);
}
