/** Measures pushes of blobs, compared with other registries. All respond after the content is synced to disk. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { StoreName } from "../data/stores.ts";
import { peerLines } from "../peers/line.ts";
import { startPeerRegistries } from "../peers/registries.ts";
import { type Line, short } from "../report.ts";
import { compareTransfers, rateOf } from "./compare-transfers.ts";
import { startEmptyHolt } from "./servers.ts";

/** Blob size, number of clients, and number of pushes per client and round. */
const PUSHES = [
  { size: 1_000_000, label: "1 MB", clients: 1, transfers: 100 },
  { size: 1_000_000, label: "1 MB", clients: 16, transfers: 20 },
  { size: 100_000_000, label: "100 MB", clients: 1, transfers: 8 },
  { size: 100_000_000, label: "100 MB", clients: 4, transfers: 3 },
] as const;
const LEAST = { Distribution: 1 };

export async function blobPush(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using registries = await startPeerRegistries();
  const { peers } = registries;
  const lines: Line[] = [];
  for (const { size, label, clients, transfers } of PUSHES) {
    const contenders = [holt, ...peers].map(({ pid, port, authorization, name, folder }) => {
      const spec = { port, clients, transfers, authorization, work: { push: { name, size } } };
      return { pid, bytes: size, spec, cleanUp: () => removePushed(folder, size) };
    });
    const [own, ...others] = await compareTransfers(contenders);
    if (own === undefined) throw new Error("figures are missing");
    lines.push(
      ...peerLines({
        measured: `Push of ${label}, ${clients === 1 ? "1 client" : `${clients} clients`}`,
        store,
        holt: rateOf(own),
        figure: `${short(own.mbPerSecond)} MB/s, ${short(own.growthMb)} MB more resident memory`,
        peers: peers.map((peer, i) => ({ name: peer.label, rate: rateOf(others[i]!) })),
        least: LEAST,
      }),
    );
  }
  return lines;
}

/**
 * Removes the files of the pushed blobs, and with them their memory in the file cache. A virtual machine gets new memory page by page from
 * its host, which takes ten times the CPU time of the write itself. That would count for the server that comes first.
 */
async function removePushed(folder: string, size: number): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await stat(path)).size === size) await rm(path);
  }
}
