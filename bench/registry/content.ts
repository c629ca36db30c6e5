/** What is pushed into the registries before they are measured, in a way that all of them understand. */
import { type Descriptor, digestOf, LAYER, MANIFEST } from "../../packages/server/test/harness/registry/registry-client.ts";
import type { Registry } from "./servers.ts";

const LAYERS = 8;

/** By POST and PUT: Distribution knows no push in one request. */
export async function pushBlob({ client, name }: Registry, content: string | Buffer, mediaType = LAYER): Promise<Descriptor> {
  const begun = await client.send("POST", `${name}/blobs/uploads/`, { body: "" });
  const location = new URL(begun.headers.location ?? "", client.baseUrl);
  const digest = digestOf(content);
  location.searchParams.set("digest", digest);
  const { status, body } = await client.send("PUT", location.pathname + location.search, { body: content });
  if (status !== 201) throw new Error(`the blob was refused with ${status}: ${body}`);
  return { mediaType, digest, size: Buffer.byteLength(content) };
}

/** Images of several layers, so that the manifests are of the usual size; each tag has one of its own. */
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
  await Promise.all(Array.from({ length: PUSHERS }, push));
}

const PUSHERS = 32;
