/** Measures GET of a manifest by tag, the first request of every pull. Holt authorizes it, Distribution does not. */
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { pushTags } from "./content.ts";
import { requestTo, startDistribution, startEmptyHolt } from "./servers.ts";

const TAGS = Array.from({ length: 100 }, (_, i) => `v${i}`);
const MIN_RATIO = 1.5;

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
  const [holtFigures, otherFigures] = await compare("http1", contenders);
  const measured = "Manifest GET by tag, authorized";
  const holtFigure = `${short(holtFigures!.perSecond)}/s, p99 ${short(holtFigures!.p99)} ms, ${short(holtFigures!.cpuUs)} µs of CPU`;
  if (otherFigures === undefined) return [{ measured, store, figure: holtFigure }];
  const ratio = holtFigures!.perSecond / otherFigures.perSecond;
  const cpuRatio = (otherFigures.cpuUs / holtFigures!.cpuUs).toFixed(2);
  const ratios = `ratio ${ratio.toFixed(2)} (by CPU time ${cpuRatio})`;
  const figure = `${holtFigure}; Distribution ${short(otherFigures.perSecond)}/s, ${short(otherFigures.cpuUs)} µs: ${ratios}`;
  return [{ measured, store, figure, target: `≥ ${MIN_RATIO} × Distribution`, holds: ratio >= MIN_RATIO }];
}
