/**
 * Feeds the readers of documents in images with hostile inputs: SBOMs, provenance, configs and charts. One request must
 * cost the main thread little CPU time and the process little memory.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { layerOf } from "../harness/registry/image-content.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import { basic, CONFIG, createRegistryClient, MANIFEST, type RegistryClient } from "../harness/registry/registry-client.ts";
import { createCostChecks } from "../harness/robustness/cost-checks.ts";
import { fill, jsonTexts } from "../harness/robustness/hostile-documents.ts";
import { type MeteredClient, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { startWorld, type World } from "../harness/world.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

let world: World;
let client: MeteredClient;
let registry: RegistryClient;
before(async () => {
  world = await startWorld();
  client = startMeteredClient(world.baseUrl, world.token);
  registry = createRegistryClient(world.baseUrl, basic("_token", world.token));
});
after(async () => {
  registry[Symbol.dispose]();
  await client[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
const { assertCheap } = createCostChecks(() => client);

test("no SBOM, provenance, config or chart that is read on demand costs the main thread much", async () => {
  using repo: ImageRepo = await createImageRepo(world, world.token, await world.group(world.orgUid, "documents"));
  const headers = { authorization: basic("_token", world.token), "content-type": MANIFEST };
  const pushing = (content: object, tag: string) => ({
    ...{ method: "PUT", path: `/v2/${repo.name}/manifests/${tag}`, headers, body: JSON.stringify(content) },
  });
  const reading = (digest: string, path: string) => ({
    method: "GET",
    path: `/registry/v1/repos/${repo.uid}/${path.replace("{}", digest)}`,
  });
  const empty = await registry.blob(repo.name, "{}", "application/vnd.oci.empty.v1+json");
  const spdx = (key: string, element: (i: number) => string) => (bytes: number) =>
    fill(bytes, (i) => `${element(i)},`, `{"spdxVersion":"SPDX-2.3","${key}":[`, "{}]}");
  // With 1 MiB, their graphs are nearly as large as the limit allows.
  const graphs = {
    packages: spdx("packages", (i) => `{"SPDXID":"p${i}"}`),
    relationships: spdx("relationships", (i) => `{"spdxElementId":"a","relatedSpdxElement":"b${i}"}`),
    components: (bytes: number) =>
      fill(bytes, (i) => `{"components":[{"name":"p${i}"}]},`, '{"bomFormat":"CycloneDX","components":[', "{}]}"),
  };
  const documents = { ...jsonTexts, ...graphs };
  for (const [name, textOf] of Object.entries(documents)) {
    const subject = await repo.push([]);
    const document = await registry.blob(repo.name, textOf(4 * MIB - 10), "application/vnd.in-toto+json");
    const manifest = { schemaVersion: 2, mediaType: MANIFEST, config: empty, layers: [document], subject };
    await assertCheap(`provenance of ${name}`, pushing(manifest, "document"));
    for (const path of ["digests/{}/sbom", "digest/{}/rawsbom"]) await assertCheap(`${path} of ${name}`, reading(subject.digest, path));
    const config = await registry.blob(repo.name, textOf(MIB - 40).replace("{", '{"architecture":"amd64","os":"linux",'), CONFIG);
    const image = { schemaVersion: 2, mediaType: MANIFEST, config, layers: [] };
    const { digest } = await registry.manifest(repo.name, image);
    await assertCheap(`a config of ${name}`, reading(digest, "digests/{}/imageconfig"));
  }
  for (const [name, textOf] of Object.entries(graphs)) {
    const subject = await repo.push([]);
    await repo.pushArtifact([[textOf(MIB), "application/spdx+json"]], { subject });
    const { status, text } = await assertCheap(`a graph of ${name}`, reading(subject.digest, "digests/{}/sbom"));
    assert.equal(status, 200, text);
  }
  const helm = await registry.blob(repo.name, "{}", "application/vnd.cncf.helm.config.v1+json");
  const values: Record<string, string> = {
    "nested YAML": `a: ${"[".repeat(50_000)}`,
    "aliases of YAML": fill(100 * KIB, "- *a\n", `a: &a [${"1,".repeat(1000)}1]\nb:\n`),
    "deep YAML": fill(380 * KIB, (i) => `${" ".repeat(i % 500)}a${i}:\n`),
    images: fill(380 * KIB, (i) => `a${i}: {image: {repository: r.io/a/${i}}}\n`),
    "a long line": fill(380 * KIB, "a"),
    "a large file": fill(MIB, "a: b\n"),
  };
  for (const [name, text] of Object.entries(values)) {
    const layer = await layerOf({ "a/Chart.yaml": "name: a\n", "a/values.yaml": text });
    const blob = await registry.blob(repo.name, layer, "application/vnd.cncf.helm.chart.content.v1.tar+gzip");
    const chart = { schemaVersion: 2, mediaType: MANIFEST, config: helm, layers: [blob] };
    const { digest } = await registry.manifest(repo.name, chart);
    await assertCheap(`pushing a chart of ${name}`, pushing(chart, "chart"));
    await assertCheap(`a chart of ${name}`, reading(digest, "digests/{}/chart"));
  }
});
