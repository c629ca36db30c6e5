/** Measures pulls of a large blob by one client and by many, compared with a bare file server and with Distribution. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { compareTransfers, type TransferContender } from "./compare-transfers.ts";
import { pushBlob } from "./content.ts";
import { makeFolder, type Registry, startDistribution, startEmptyHolt, startStatic } from "./servers.ts";

const SIZE = 100_000_000;
const MIN_RATIO = 0.9;
const MAX_GROWTH_MB = 64;
/** Number of clients, and number of pulls per client and round. */
const ROUNDS = [
  [1, 32],
  [16, 4],
] as const;

export async function blobPull(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using distribution = await startDistribution();
  const content = randomBytes(SIZE);
  const { digest } = await pushBlob(holt, content);
  if (distribution !== undefined) await pushBlob(distribution, content);
  const sourceIn = (registry: Registry): Source => ({ registry, path: `/v2/${registry.name}/blobs/${digest}` });
  return await comparePulls("Pull of 100 MB", store, content, sourceIn(holt), distribution && sourceIn(distribution));
}

/** A server and the path of the content on it. */
interface Source {
  readonly registry: Pick<Registry, "pid" | "port" | "authorization">;
  readonly path: string;
}

/** Compares pulls with a bare server of the same bytes, and with another registry if one is given. */
export async function comparePulls(measured: string, store: StoreName, content: Buffer, holt: Source, other?: Source): Promise<Line[]> {
  await using files = await makeFolder("files");
  await writeFile(join(files.path, "blob"), content);
  await using bare = await startStatic(files.path);
  const lines: Line[] = [];
  for (const [clients, transfers] of ROUNDS) {
    const contenderOf = ({ registry: { pid, port, authorization }, path: pull }: Source): TransferContender => {
      return { pid, bytes: content.length, spec: { port, clients, transfers, authorization, work: { pull } } };
    };
    const [holtFigures, bareFigures, otherFigures] = await compareTransfers([
      contenderOf(holt),
      contenderOf({ registry: { ...bare, authorization: undefined }, path: "/blob" }),
      ...(other === undefined ? [] : [contenderOf(other)]),
    ]);
    if (holtFigures === undefined || bareFigures === undefined) throw new Error("figures are missing");
    const ratioTo = (another: typeof holtFigures) => {
      const cpuRatio = (another.cpuMsPerTransfer / holtFigures.cpuMsPerTransfer).toFixed(2);
      const ratio = (holtFigures.mbPerSecond / another.mbPerSecond).toFixed(2);
      return `${short(another.mbPerSecond)} MB/s: ratio ${ratio} (by CPU time ${cpuRatio})`;
    };
    const line = { measured: `${measured}, ${clients === 1 ? "1 client" : `${clients} clients`}`, store };
    const figure = `${short(holtFigures.mbPerSecond)} MB/s; bare ${ratioTo(bareFigures)}`;
    lines.push({
      ...line,
      figure,
      target: `≥ ${MIN_RATIO} of bare`,
      holds: holtFigures.mbPerSecond >= MIN_RATIO * bareFigures.mbPerSecond,
    });
    if (otherFigures !== undefined) lines.push({ ...line, figure: `Distribution ${ratioTo(otherFigures)}` });
    const growth = `${short(holtFigures.growthMb)} MB more resident memory; bare ${short(bareFigures.growthMb)} MB`;
    lines.push({ ...line, figure: growth, target: `≤ ${MAX_GROWTH_MB} MB`, holds: holtFigures.growthMb <= MAX_GROWTH_MB });
  }
  return lines;
}
