/** A large blob, pulled by one client and by many, beside a bare server of files and beside Distribution. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { compareTransfers, type TransferContender } from "./compare-transfers.ts";
import { pushBlob } from "./content.ts";
import { makeFolder, startDistribution, startEmptyHolt, startStatic } from "./servers.ts";

const SIZE = 100_000_000;
const WANTED = 0.9;
const MAX_GROWTH_MB = 64;
/** Clients, and how many blobs each of them pulls in a round. */
const ROUNDS = [
  [1, 32],
  [16, 4],
] as const;

export async function blobPull(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using distribution = await startDistribution();
  await using files = await makeFolder("files");
  const content = randomBytes(SIZE);
  await writeFile(join(files.path, "blob"), content);
  await using bare = await startStatic(files.path);
  const { digest } = await pushBlob(holt, content);
  if (distribution !== undefined) await pushBlob(distribution, content);

  const lines: Line[] = [];
  for (const [clients, transfers] of ROUNDS) {
    const contenderOf = ({ pid, port }: { pid: number; port: number }, pull: string, authorization?: string): TransferContender => {
      return { pid, bytes: SIZE, spec: { port, clients, transfers, authorization, work: { pull } } };
    };
    const [ofHolt, ofBare, ofOther] = await compareTransfers([
      contenderOf(holt, `/v2/${holt.name}/blobs/${digest}`, holt.authorization),
      contenderOf(bare, "/blob"),
      ...(distribution === undefined ? [] : [contenderOf(distribution, `/v2/${distribution.name}/blobs/${digest}`)]),
    ]);
    if (ofHolt === undefined || ofBare === undefined) throw new Error("nothing was measured");
    const ratioTo = (other: typeof ofHolt) => {
      const ofCpu = (other.cpuMsPerTransfer / ofHolt.cpuMsPerTransfer).toFixed(2);
      return `${short(other.mbPerSecond)} MB/s: ratio ${(ofHolt.mbPerSecond / other.mbPerSecond).toFixed(2)} (by CPU time ${ofCpu})`;
    };
    const what = `Pull of 100 MB, ${clients === 1 ? "1 client" : `${clients} clients`}`;
    const figure = `${short(ofHolt.mbPerSecond)} MB/s; bare ${ratioTo(ofBare)}`;
    lines.push({ what, store, figure, target: `≥ ${WANTED} of bare`, holds: ofHolt.mbPerSecond >= WANTED * ofBare.mbPerSecond });
    if (ofOther !== undefined) lines.push({ what, store, figure: `Distribution ${ratioTo(ofOther)}` });
    const growth = `${short(ofHolt.growthMb)} MB more resident memory; bare ${short(ofBare.growthMb)} MB`;
    lines.push({ what, store, figure: growth, target: `≤ ${MAX_GROWTH_MB} MB`, holds: ofHolt.growthMb <= MAX_GROWTH_MB });
  }
  return lines;
}
