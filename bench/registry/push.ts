/** Measures pushes of blobs, compared with Distribution. Both respond after the content is synced to disk. */
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { compareTransfers } from "./compare-transfers.ts";
import { startDistribution, startEmptyHolt } from "./servers.ts";

/** Blob size, number of clients, and number of pushes per client and round. */
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
    const [holtFigures, otherFigures] = await compareTransfers(contenders);
    if (holtFigures === undefined) throw new Error("figures are missing");
    const measured = `Push of ${label}, ${clients === 1 ? "1 client" : `${clients} clients`}`;
    const speed = `${short(holtFigures.perSecond)}/s, ${short(holtFigures.mbPerSecond)} MB/s`;
    const holtFigure = `${speed}, ${short(holtFigures.growthMb)} MB more resident memory`;
    if (otherFigures === undefined) {
      lines.push({ measured, store, figure: holtFigure });
      continue;
    }
    const ratio = holtFigures.perSecond / otherFigures.perSecond;
    const cpuRatio = (otherFigures.cpuMsPerTransfer / holtFigures.cpuMsPerTransfer).toFixed(2);
    const figure = `${holtFigure}; Distribution ${short(otherFigures.perSecond)}/s: ratio ${ratio.toFixed(2)} (by CPU time ${cpuRatio})`;
    lines.push({ measured, store, figure, target: "≥ Distribution", holds: ratio >= 1 });
  }
  return lines;
}
