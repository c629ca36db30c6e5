/** Measures one page of a long list of tags in the registry API. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { pushTags } from "./content.ts";
import { type Registry, requestTo, startDistribution, startEmptyHolt } from "./servers.ts";

const TAGS = Array.from({ length: 10_000 }, (_, i) => `v${String(i).padStart(5, "0")}`);
const PAGE_SIZE = 100;
const CONNECTIONS = 8;
const MIN_RATIO = 5;

export async function tagPage(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using distribution = await startDistribution();
  const contenders = [];
  await pushTags(holt, TAGS);
  if (distribution !== undefined) await writeTags(distribution, TAGS);
  for (const registry of distribution === undefined ? [holt] : [holt, distribution]) {
    const path = `/v2/${registry.name}/tags/list?n=${PAGE_SIZE}&last=${TAGS[TAGS.length / 2]}`;
    const load = { port: registry.port, connections: CONNECTIONS, requests: [requestTo(registry, "GET", path)] };
    contenders.push({ pid: registry.pid, load });
  }
  const [holtFigures, otherFigures] = await compare("http1", contenders);
  const measured = `${PAGE_SIZE} of ${TAGS.length} tags, ${CONNECTIONS} clients`;
  const holtFigure = `${short(holtFigures!.perSecond)}/s, p99 ${short(holtFigures!.p99)} ms`;
  if (otherFigures === undefined) return [{ measured, store, figure: holtFigure }];
  const ratio = holtFigures!.perSecond / otherFigures.perSecond;
  const figure = `${holtFigure}; Distribution ${short(otherFigures.perSecond)}/s, p99 ${short(otherFigures.p99)} ms: ratio ${short(ratio)}`;
  return [{ measured, store, figure, target: `≥ ${MIN_RATIO} × Distribution`, holds: ratio >= MIN_RATIO }];
}

/** Writes the tags directly to Distribution's disk, because pushing them takes minutes. It stores only one folder per tag. */
async function writeTags(registry: Registry, tags: readonly string[]): Promise<void> {
  const [first = "", ...others] = tags;
  await pushTags(registry, [first]);
  const folder = join(registry.folder, "docker/registry/v2/repositories", registry.name, "_manifests/tags");
  const link = await readFile(join(folder, first, "current/link"));
  for (const tag of others) {
    await mkdir(join(folder, tag, "current"), { recursive: true });
    await writeFile(join(folder, tag, "current/link"), link);
  }
}
