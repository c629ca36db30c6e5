/** Measures GET of a manifest by tag, the first request of every pull. Holt authorizes it, the other registries do not. */
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { latencyAndCpu, peerLines } from "../peers/line.ts";
import { startPeerRegistries } from "../peers/registries.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { pushTags } from "./content.ts";
import { requestTo, startEmptyHolt } from "./servers.ts";

const TAGS = Array.from({ length: 100 }, (_, i) => `v${i}`);
const LEAST = { sqlite: { Distribution: 4, zot: 2 }, postgres: { Distribution: 2.5 } };

export async function manifestGet(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using registries = await startPeerRegistries();
  const { peers } = registries;
  const contenders = [];
  for (const registry of [holt, ...peers]) {
    await pushTags(registry, TAGS);
    const requests = TAGS.map((tag) => requestTo(registry, "GET", `/v2/${registry.name}/manifests/${tag}`));
    contenders.push({ pid: registry.pid, load: { port: registry.port, connections: scale.connections, requests } });
  }
  const [own, ...others] = await compare("http1", contenders);
  return peerLines({
    measured: "Manifest GET by tag, authorized",
    store,
    holt: own!,
    figure: latencyAndCpu(own!),
    peers: peers.map(({ label }, i) => ({ name: label, rate: others[i]! })),
    least: LEAST[store],
  });
}
