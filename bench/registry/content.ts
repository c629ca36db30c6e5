/** Pushes content into the registries before they are measured, by requests that all of them support. */
import { type Descriptor, digestOf, LAYER, MANIFEST } from "../../packages/server/test/harness/registry/registry-client.ts";
import type { Registry } from "./servers.ts";

const LAYERS = 8;
const CONCURRENT_PUSHES = 32;

/** Uses POST and PUT, because Distribution does not support a push in one request. */
export async function pushBlob({ client, name }: Registry, content: string | Buffer, mediaType = LAYER): Promise<Descriptor> {
  const started = await client.send("POST", `${name}/blobs/uploads/`, { body: "" });
  const location = new URL(started.headers.location ?? "", client.baseUrl);
  const digest = digestOf(content);
  location.searchParams.set("digest", digest);
  const { status, body } = await client.send("PUT", location.pathname + location.search, { body: content });
  if (status !== 201) throw new Error(`pushing the blob failed with ${status}: ${body}`);
  return { mediaType, digest, size: Buffer.byteLength(content) };
}

/** Pushes one image per tag, with several layers so that the manifests have a realistic size. */
export async function pushTags(registry: Registry, tags: readonly string[]): Promise<void> {
  const config = await pushBlob(registry, '{"architecture":"amd64","os":"linux"}');
  const layers: Descriptor[] = [];
  for (let i = 0; i < LAYERS; i++) layers.push(await pushBlob(registry, `layer ${i}`));
  const { client, name } = registry;
  const manifestOf = (tag: string) => ({ schemaVersion: 2, mediaType: MANIFEST, config, layers, annotations: { tag } });
  const waiting = [...tags];
  const push = async () => {
    for (let tag = waiting.pop(); tag !== undefined; tag = waiting.pop()) await client.manifest(name, manifestOf(tag), tag);
  };
  await Promise.all(Array.from({ length: CONCURRENT_PUSHES }, push));
}
