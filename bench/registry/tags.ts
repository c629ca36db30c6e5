/** Measures one page of a long list of tags in the registry API. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { latencyAndCpu, peerLines } from "../peers/line.ts";
import { type PeerRegistry, startPeerRegistries } from "../peers/registries.ts";
import type { Line } from "../report.ts";
import { pushTags } from "./content.ts";
import { requestTo, startEmptyHolt } from "./servers.ts";

const TAGS = Array.from({ length: 10_000 }, (_, i) => `v${String(i).padStart(5, "0")}`);
const PAGE_SIZE = 100;
const CONNECTIONS = 8;
const LEAST = { Distribution: 5 };

export async function tagPage(store: StoreName): Promise<Line[]> {
  await using holt = await startEmptyHolt(store);
  await using registries = await startPeerRegistries();
  const { peers } = registries;
  const contenders = [];
  await pushTags(holt, TAGS);
  for (const peer of peers) await writeTags(peer, TAGS);
  for (const registry of [holt, ...peers]) {
    const path = `/v2/${registry.name}/tags/list?n=${PAGE_SIZE}&last=${TAGS[TAGS.length / 2]}`;
    const load = { port: registry.port, connections: CONNECTIONS, requests: [requestTo(registry, "GET", path)] };
    contenders.push({ pid: registry.pid, load });
  }
  const [own, ...others] = await compare("http1", contenders);
  return peerLines({
    measured: `${PAGE_SIZE} of ${TAGS.length} tags, ${CONNECTIONS} clients`,
    store,
    holt: own!,
    figure: latencyAndCpu(own!),
    peers: peers.map(({ label }, i) => ({ name: label, rate: others[i]! })),
    least: LEAST,
  });
}

/** Writes the tags directly to the peer's disk, because pushing them takes minutes. */
async function writeTags(registry: PeerRegistry, tags: readonly string[]): Promise<void> {
  await pushTags(registry, tags.slice(0, 1));
  await (registry.label === "zot" ? writeZotTags : writeDistributionTags)(registry, tags);
}

/** Distribution stores one folder per tag. */
async function writeDistributionTags(registry: PeerRegistry, [first = "", ...others]: readonly string[]): Promise<void> {
  const folder = join(registry.folder, "docker/registry/v2/repositories", registry.name, "_manifests/tags");
  const link = await readFile(join(folder, first, "current/link"));
  for (const tag of others) {
    await mkdir(join(folder, tag, "current"), { recursive: true });
    await writeFile(join(folder, tag, "current/link"), link);
  }
}

/** zot stores all tags of a repository in the index of an OCI image layout. */
async function writeZotTags(registry: PeerRegistry, tags: readonly string[]): Promise<void> {
  const path = join(registry.folder, registry.name, "index.json");
  const index = JSON.parse(await readFile(path, "utf8")) as { manifests: object[] };
  const [model] = index.manifests;
  const manifests = tags.map((tag) => ({ ...model, annotations: { "org.opencontainers.image.ref.name": tag } }));
  await writeFile(path, JSON.stringify({ ...index, manifests }));
}
