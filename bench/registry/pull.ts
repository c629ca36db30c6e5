/** Measures pulls of a large blob by one client and by many, compared with a bare file server and with other registries. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoreName } from "../data/stores.ts";
import { peerLines } from "../peers/line.ts";
import { type RegistryName, startPeerRegistries } from "../peers/registries.ts";
import { type Line, short } from "../report.ts";
import { compareTransfers, rateOf, type TransferContender } from "./compare-transfers.ts";
import { pushBlob } from "./content.ts";
import { makeFolder, type Registry, startEmptyHolt, startStatic } from "./servers.ts";

const SIZE = 100_000_000;
const MIN_RATIO = 0.9;
const MAX_GROWTH_MB = 64;
const LEAST = { Distribution: 1 };
/** Number of clients, and number of pulls per client and round. */
const ROUNDS = [
  [1, 32],
  [16, 4],
] as const;

export async function blobPull(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using registries = await startPeerRegistries();
  const content = randomBytes(SIZE);
  const { digest } = await pushBlob(holt, content);
  for (const peer of registries.peers) await pushBlob(peer, content);
  const sourceIn = (registry: Registry): Source => ({ registry, path: `/v2/${registry.name}/blobs/${digest}` });
  return await comparePulls(
    "Pull of 100 MB",
    store,
    content,
    sourceIn(holt),
    registries.peers.map((peer) => ({ ...sourceIn(peer), label: peer.label })),
  );
}

/** A server and the path of the content on it. */
interface Source {
  readonly registry: Pick<Registry, "pid" | "port" | "authorization">;
  readonly path: string;
}

interface PeerSource extends Source {
  readonly label: RegistryName;
}

/** Compares pulls with a bare server of the same bytes, and with other registries. */
export async function comparePulls(
  measured: string,
  store: StoreName,
  content: Buffer,
  holt: Source,
  peers: readonly PeerSource[] = [],
): Promise<Line[]> {
  await using files = await makeFolder("files");
  await writeFile(join(files.path, "blob"), content);
  await using bare = await startStatic(files.path);
  const lines: Line[] = [];
  for (const [clients, transfers] of ROUNDS) {
    const contenderOf = ({ registry: { pid, port, authorization }, path: pull }: Source): TransferContender => {
      return { pid, bytes: content.length, spec: { port, clients, transfers, authorization, work: { pull } } };
    };
    const [holtFigures, bareFigures, ...others] = await compareTransfers([
      contenderOf(holt),
      contenderOf({ registry: { ...bare, authorization: undefined }, path: "/blob" }),
      ...peers.map(contenderOf),
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
    if (peers.length > 0)
      lines.push(
        ...peerLines({
          ...line,
          holt: rateOf(holtFigures),
          figure: `${short(holtFigures.mbPerSecond)} MB/s`,
          peers: peers.map(({ label: name }, i) => ({ name, rate: rateOf(others[i]!) })),
          least: LEAST,
        }),
      );
    const growth = `${short(holtFigures.growthMb)} MB more resident memory; bare ${short(bareFigures.growthMb)} MB`;
    lines.push({ ...line, figure: growth, target: `≤ ${MAX_GROWTH_MB} MB`, holds: holtFigures.growthMb <= MAX_GROWTH_MB });
  }
  return lines;
}
