/** Reads and writes the content of one repository of a registry. */
import { createHash } from "node:crypto";
import { Failure } from "../failure.ts";
import type { Registry } from "./registry.ts";

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os?: string; readonly architecture?: string; readonly variant?: string };
  readonly artifactType?: string;
  /** Addresses of a layer that is kept elsewhere. */
  readonly urls?: readonly string[] | null;
}

export interface Manifest {
  readonly mediaType: string;
  readonly digest: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

export interface Repository {
  readonly registry: Registry;
  readonly name: string;
}

/** Manifests beyond this size are not manifests. */
const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;

const MANIFEST_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
export const OCI_INDEX = MANIFEST_TYPES[0] ?? "";

/** @returns undefined if the repository does not have it */
export async function findManifest({ registry, name }: Repository, reference: string): Promise<Manifest | undefined> {
  const headers = { accept: MANIFEST_TYPES.join(", ") };
  const response = await registry.send({ method: "GET", url: `/v2/${name}/manifests/${reference}`, headers, accept: [404] });
  if (response.status === 404) {
    await response.body?.cancel();
    return undefined;
  }
  if (Number(response.headers.get("content-length") ?? 0) > MAX_MANIFEST_BYTES) throw new Failure(`the manifest ${reference} is too large`);
  const content = new Uint8Array(await response.arrayBuffer());
  const algorithm = reference.startsWith("sha512:") ? "sha512" : "sha256";
  const digest = `${algorithm}:${createHash(algorithm).update(content).digest("hex")}`;
  if (reference.includes(":") && reference !== digest)
    throw new Failure(`${registry.host} sent other bytes than the manifest ${reference}`);
  return { mediaType: typeOf(content, response), digest, content };
}

function typeOf(content: Uint8Array, response: Response): string {
  const { mediaType } = JSON.parse(new TextDecoder().decode(content)) as { mediaType?: string };
  return mediaType ?? response.headers.get("content-type")?.split(";")[0] ?? "";
}

/** @returns whether the registry keeps the relation to the subject of the manifest by itself */
export async function pushManifest({ registry, name }: Repository, manifest: Manifest, reference: string): Promise<boolean> {
  const { content: body, mediaType } = manifest;
  const headers = { "content-type": mediaType };
  const response = await registry.send({ method: "PUT", url: `/v2/${name}/manifests/${reference}`, headers, body });
  await response.body?.cancel();
  return response.headers.has("oci-subject");
}

export async function hasManifest(repository: Repository, digest: string): Promise<boolean> {
  return has(repository, `manifests/${digest}`, { accept: MANIFEST_TYPES.join(", ") });
}

export async function hasBlob(repository: Repository, digest: string): Promise<boolean> {
  return has(repository, `blobs/${digest}`, {});
}

async function has({ registry, name }: Repository, path: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const response = await registry.send({ method: "HEAD", url: `/v2/${name}/${path}`, headers, accept: [404] });
  return response.ok;
}

/** Takes a blob from another repository of the same registry. @returns the URL of an upload if the registry refuses it */
export async function mountBlob({ registry, name }: Repository, digest: string, from: string | undefined): Promise<string | undefined> {
  const query = from === undefined ? "" : `?${new URLSearchParams({ mount: digest, from })}`;
  const response = await registry.send({ method: "POST", url: `/v2/${name}/blobs/uploads/${query}`, headers: { "content-length": "0" } });
  await response.body?.cancel();
  if (response.status === 201) return undefined;
  const location = response.headers.get("location");
  if (location === null) throw new Failure(`${registry.host} did not say where to upload to`);
  return new URL(location, registry.origin).href;
}

export async function readBlob({ registry, name }: Repository, { digest }: Descriptor): Promise<ReadableStream<Uint8Array>> {
  const response = await registry.send({ method: "GET", url: `/v2/${name}/blobs/${digest}` });
  return response.body ?? new ReadableStream({ start: (controller) => controller.close() });
}

/** Sends the bytes as they arrive. The registry compares them with the digest. */
export async function uploadBlob(
  { registry }: Repository,
  location: string,
  { digest, body }: { digest: string; body: ReadableStream<Uint8Array> },
): Promise<void> {
  const headers = { "content-type": "application/octet-stream" };
  const sent = await registry.send({ method: "PATCH", url: location, headers, body });
  await sent.body?.cancel();
  const last = new URL(sent.headers.get("location") ?? location, registry.origin);
  last.searchParams.set("digest", digest);
  const done = await registry.send({ method: "PUT", url: last.href, headers: { "content-length": "0" } });
  await done.body?.cancel();
}

/** Ends an upload that failed, so that the registry need not keep its bytes. */
export async function cancelUpload({ registry }: Repository, location: string): Promise<void> {
  await registry.send({ method: "DELETE", url: location, accept: [404, 405] }).catch(() => {});
}

/** The tag by which registries without the referrers API keep the list of referrers. */
export function fallbackTag(digest: string): string {
  return digest.replace(":", "-");
}

export async function listReferrers(repository: Repository, digest: string): Promise<Descriptor[]> {
  const { registry, name } = repository;
  const found: Descriptor[] = [];
  let url: string | undefined = `/v2/${name}/referrers/${digest}`;
  while (url !== undefined) {
    const response: Response = await registry.send({ method: "GET", url, accept: [404, 405] });
    const isIndex = response.ok && (response.headers.get("content-type") ?? "").startsWith(OCI_INDEX);
    if (!isIndex) {
      await response.body?.cancel();
      return referrersByTag(repository, digest);
    }
    found.push(...(((await response.json()) as { manifests?: Descriptor[] }).manifests ?? []));
    const [, next] = /<([^>]+)>\s*;\s*rel="?next"?/.exec(response.headers.get("link") ?? "") ?? [];
    url = next && new URL(next, new URL(url, registry.origin)).href;
  }
  return found;
}

async function referrersByTag(repository: Repository, digest: string): Promise<Descriptor[]> {
  const index = await findManifest(repository, fallbackTag(digest));
  return index === undefined ? [] : ((JSON.parse(new TextDecoder().decode(index.content)) as { manifests?: Descriptor[] }).manifests ?? []);
}
