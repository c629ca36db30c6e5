/** A large blob, pulled by one client and by many, beside a bare server of files and beside Distribution. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { compareTransfers, type TransferContender } from "./compare-transfers.ts";
import { pushBlob } from "./content.ts";
import { makeFolder, type Registry, startDistribution, startEmptyHolt, startStatic } from "./servers.ts";

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
  const content = randomBytes(SIZE);
  const { digest } = await pushBlob(holt, content);
  if (distribution !== undefined) await pushBlob(distribution, content);
  const placeIn = (registry: Registry): Place => ({ registry, path: `/v2/${registry.name}/blobs/${digest}` });
  return await comparePulls("Pull of 100 MB", store, content, placeIn(holt), distribution && placeIn(distribution));
}

/** Where a server has the content. */
interface Place {
  readonly registry: Pick<Registry, "pid" | "port" | "authorization">;
  readonly path: string;
}

/** By one client and by many, beside a bare server of the same bytes and beside Distribution where there is one. */
export async function comparePulls(what: string, store: StoreName, content: Buffer, holt: Place, other?: Place): Promise<Line[]> {
  await using files = await makeFolder("files");
  await writeFile(join(files.path, "blob"), content);
  await using bare = await startStatic(files.path);
  const lines: Line[] = [];
  for (const [clients, transfers] of ROUNDS) {
    const contenderOf = ({ registry: { pid, port, authorization }, path: pull }: Place): TransferContender => {
      return { pid, bytes: content.length, spec: { port, clients, transfers, authorization, work: { pull } } };
    };
    const [ofHolt, ofBare, ofOther] = await compareTransfers([
      contenderOf(holt),
      contenderOf({ registry: { ...bare, authorization: undefined }, path: "/blob" }),
      ...(other === undefined ? [] : [contenderOf(other)]),
    ]);
    if (ofHolt === undefined || ofBare === undefined) throw new Error("nothing was measured");
    const ratioTo = (another: typeof ofHolt) => {
      const ofCpu = (another.cpuMsPerTransfer / ofHolt.cpuMsPerTransfer).toFixed(2);
      return `${short(another.mbPerSecond)} MB/s: ratio ${(ofHolt.mbPerSecond / another.mbPerSecond).toFixed(2)} (by CPU time ${ofCpu})`;
    };
    const line = { what: `${what}, ${clients === 1 ? "1 client" : `${clients} clients`}`, store };
    const figure = `${short(ofHolt.mbPerSecond)} MB/s; bare ${ratioTo(ofBare)}`;
    lines.push({ ...line, figure, target: `≥ ${WANTED} of bare`, holds: ofHolt.mbPerSecond >= WANTED * ofBare.mbPerSecond });
    if (ofOther !== undefined) lines.push({ ...line, figure: `Distribution ${ratioTo(ofOther)}` });
    const growth = `${short(ofHolt.growthMb)} MB more resident memory; bare ${short(ofBare.growthMb)} MB`;
    lines.push({ ...line, figure: growth, target: `≤ ${MAX_GROWTH_MB} MB`, holds: ofHolt.growthMb <= MAX_GROWTH_MB });
  }
  return lines;
}
