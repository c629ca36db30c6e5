/** A manifest by its tag, which every pull begins with: Holt authorizes it, Distribution lets everybody in. */
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { pushTags } from "./content.ts";
import { requestTo, startDistribution, startEmptyHolt } from "./servers.ts";

const TAGS = Array.from({ length: 100 }, (_, i) => `v${i}`);
const WANTED = 1.5;

export async function manifestGet(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using distribution = await startDistribution();
  const registries = [holt, ...(distribution === undefined ? [] : [distribution])];
  const contenders = [];
  for (const registry of registries) {
    await pushTags(registry, TAGS);
    const requests = TAGS.map((tag) => requestTo(registry, "GET", `/v2/${registry.name}/manifests/${tag}`));
    contenders.push({ pid: registry.pid, load: { port: registry.port, connections: scale.connections, requests } });
  }
  const [ofHolt, ofOther] = await compare("http1", contenders);
  const what = "Manifest GET by tag, authorized";
  const own = `${short(ofHolt!.perSecond)}/s, p99 ${short(ofHolt!.p99)} ms, ${short(ofHolt!.cpuUs)} µs of CPU`;
  if (ofOther === undefined) return [{ what, store, figure: own }];
  const ratio = ofHolt!.perSecond / ofOther.perSecond;
  const ofCpu = (ofOther.cpuUs / ofHolt!.cpuUs).toFixed(2);
  const figure = `${own}; Distribution ${short(ofOther.perSecond)}/s, ${short(ofOther.cpuUs)} µs: ratio ${ratio.toFixed(2)} (by CPU time ${ofCpu})`;
  return [{ what, store, figure, target: `≥ ${WANTED} × Distribution`, holds: ratio >= WANTED }];
}
