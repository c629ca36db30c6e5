/** Pushes of blobs, beside Distribution: both answer when the content is synced to disk. */
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { compareTransfers } from "./compare-transfers.ts";
import { startDistribution, startEmptyHolt } from "./servers.ts";

/** Size, clients, and how many blobs each of them pushes in a round. */
const PUSHES = [
  { size: 1_000_000, label: "1 MB", clients: 1, transfers: 100 },
  { size: 1_000_000, label: "1 MB", clients: 16, transfers: 20 },
  { size: 100_000_000, label: "100 MB", clients: 1, transfers: 8 },
  { size: 100_000_000, label: "100 MB", clients: 4, transfers: 3 },
] as const;

export async function blobPush(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using distribution = await startDistribution();
  const registries = distribution === undefined ? [holt] : [holt, distribution];
  const lines: Line[] = [];
  for (const { size, label, clients, transfers } of PUSHES) {
    const contenders = registries.map(({ pid, port, authorization, name }) => {
      return { pid, bytes: size, spec: { port, clients, transfers, authorization, work: { push: { name, size } } } };
    });
    const [ofHolt, ofOther] = await compareTransfers(contenders);
    if (ofHolt === undefined) throw new Error("nothing was measured");
    const what = `Push of ${label}, ${clients === 1 ? "1 client" : `${clients} clients`}`;
    const own = `${short(ofHolt.perSecond)}/s, ${short(ofHolt.mbPerSecond)} MB/s, ${short(ofHolt.growthMb)} MB more resident memory`;
    if (ofOther === undefined) {
      lines.push({ what, store, figure: own });
      continue;
    }
    const ratio = ofHolt.perSecond / ofOther.perSecond;
    const ofCpu = (ofOther.cpuMsPerTransfer / ofHolt.cpuMsPerTransfer).toFixed(2);
    const figure = `${own}; Distribution ${short(ofOther.perSecond)}/s: ratio ${ratio.toFixed(2)} (by CPU time ${ofCpu})`;
    lines.push({ what, store, figure, target: "≥ Distribution", holds: ratio >= 1 });
  }
  return lines;
}
