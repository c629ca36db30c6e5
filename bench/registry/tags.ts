/** A page of a long list of tags, as registry clients ask for it. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { pushTags } from "./content.ts";
import { type Registry, requestTo, startDistribution, startEmptyHolt } from "./servers.ts";

const TAGS = Array.from({ length: 10_000 }, (_, i) => `v${String(i).padStart(5, "0")}`);
const PAGE = 100;
const CONNECTIONS = 8;
const WANTED = 5;

export async function tagPage(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using distribution = await startDistribution();
  const contenders = [];
  await pushTags(holt, TAGS);
  if (distribution !== undefined) await placeTags(distribution, TAGS);
  for (const registry of distribution === undefined ? [holt] : [holt, distribution]) {
    const path = `/v2/${registry.name}/tags/list?n=${PAGE}&last=${TAGS[TAGS.length / 2]}`;
    const load = { port: registry.port, connections: CONNECTIONS, requests: [requestTo(registry, "GET", path)] };
    contenders.push({ pid: registry.pid, load });
  }
  const [ofHolt, ofOther] = await compare("http1", contenders);
  const what = `${PAGE} of ${TAGS.length} tags, ${CONNECTIONS} clients`;
  const own = `${short(ofHolt!.perSecond)}/s, p99 ${short(ofHolt!.p99)} ms`;
  if (ofOther === undefined) return [{ what, store, figure: own }];
  const ratio = ofHolt!.perSecond / ofOther.perSecond;
  const figure = `${own}; Distribution ${short(ofOther.perSecond)}/s, p99 ${short(ofOther.p99)} ms: ratio ${short(ratio)}`;
  return [{ what, store, figure, target: `≥ ${WANTED} × Distribution`, holds: ratio >= WANTED }];
}

/** Pushing so many takes Distribution minutes. It keeps a folder for each tag, and nothing else tells it of them. */
async function placeTags(registry: Registry, tags: readonly string[]): Promise<void> {
  const [first = "", ...others] = tags;
  await pushTags(registry, [first]);
  const folder = join(registry.folder, "docker/registry/v2/repositories", registry.name, "_manifests/tags");
  const link = await readFile(join(folder, first, "current/link"));
  for (const tag of others) {
    await mkdir(join(folder, tag, "current"), { recursive: true });
    await writeFile(join(folder, tag, "current/link"), link);
  }
}
