/** Parses untrusted manifests and indexes into their type and references. It only looks at the bytes. */
import { isDigest } from "../../blobs/digest.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { OciError } from "../oci-error.ts";

export const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";
const KINDS: ReadonlyMap<string, Manifest["kind"]> = new Map([
  ["application/vnd.oci.image.manifest.v1+json", "manifest"],
  ["application/vnd.docker.distribution.manifest.v2+json", "manifest"],
  [INDEX_TYPE, "index"],
  ["application/vnd.docker.distribution.manifest.list.v2+json", "index"],
]);

/** Names, values, lists and objects. */
const MAX_VALUES = 100_000;
/** Blobs and manifests that a manifest may refer to. Real ones have a few hundred; each is a row. */
const MAX_DESCRIPTORS = 5000;

/** A descriptor (OCI image specification, descriptor.md), reduced to what the registry uses. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform: Platform | undefined;
  /**
   * Whether the content may be elsewhere, at `urls`, such as a layer that must not be distributed. The registry need
   * not have it.
   */
  readonly isForeign: boolean;
}

export interface Platform {
  readonly architecture: string;
  readonly os: string;
  readonly variant: string;
}

export interface Manifest {
  readonly kind: "manifest" | "index";
  readonly mediaType: string;
  /**
   * The artifact type in the referrers API: that of the manifest, else the media type of its config; undefined for an
   * index without one.
   */
  readonly artifactType: string | undefined;
  readonly config: Descriptor | undefined;
  readonly layers: readonly Descriptor[];
  /** The manifests of an index; empty for a manifest. */
  readonly children: readonly Descriptor[];
  /** Digest of a manifest, which need not exist. */
  readonly subject: string | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

/** The config and the layers. */
export function blobsOf({ config, layers }: Pick<Manifest, "config" | "layers">): readonly Descriptor[] {
  return config === undefined ? layers : [config, ...layers];
}

export function isManifestType(mediaType: string): boolean {
  return KINDS.has(mediaType);
}

/**
 * @param contentType of the request; its parameters are ignored. Without it, the manifest's own mediaType counts
 * @throws OciError MANIFEST_INVALID
 */
export function parseManifest(content: Uint8Array, contentType: string | undefined): Manifest {
  const fields = requireObject(parseJson(content), "the manifest");
  const claimed = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  const own = fields.mediaType === undefined ? undefined : requireString(fields.mediaType, "mediaType");
  const mediaType = own ?? claimed ?? "";
  // Clients that trust one of the two would interpret the bytes differently from clients that trust the other.
  if (own !== undefined && claimed !== undefined && own !== claimed)
    throw invalidManifest(`mediaType is ${own}, but Content-Type is ${claimed}`);
  const kind = KINDS.get(mediaType);
  if (kind === undefined) throw invalidManifest(`"${mediaType.slice(0, 200)}" is not a supported manifest type`);
  if (fields.schemaVersion !== 2) throw invalidManifest("schemaVersion must be 2");
  if (kind === "manifest" ? fields.manifests !== undefined : fields.layers !== undefined || fields.config !== undefined)
    throw invalidManifest("it has the fields of both an image manifest and an index");
  const config = kind === "manifest" ? parseDescriptor(fields.config, "config") : undefined;
  const ownType = fields.artifactType === undefined ? "" : requireString(fields.artifactType, "artifactType");
  return {
    kind,
    mediaType,
    artifactType: ownType || config?.mediaType,
    config,
    layers: kind === "manifest" ? parseDescriptors(fields.layers, "layers") : [],
    children: kind === "index" ? parseDescriptors(fields.manifests, "manifests") : [],
    subject: fields.subject === undefined || fields.subject === null ? undefined : parseDescriptor(fields.subject, "subject").digest,
    annotations: parseAnnotations(fields.annotations),
  };
}

function parseJson(content: Uint8Array): unknown {
  try {
    return parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(content), { maxValues: MAX_VALUES });
  } catch (error) {
    throw invalidManifest(`it is not JSON: ${(error as Error).message}`);
  }
}

function parseDescriptors(value: unknown, field: string): Descriptor[] {
  if (value === undefined) throw invalidManifest(`${field} is missing`);
  // Clients in Go, such as crane and regctl, write an empty list as null.
  if (value === null) return [];
  if (!Array.isArray(value)) throw invalidManifest(`${field} must be an array`);
  if (value.length > MAX_DESCRIPTORS) throw invalidManifest(`${field} has more than ${MAX_DESCRIPTORS} elements`);
  return value.map((element, at) => parseDescriptor(element, `${field}[${at}]`));
}

function parseDescriptor(value: unknown, field: string): Descriptor {
  const fields = requireObject(value, field);
  const digest = requireString(fields.digest, `${field}.digest`);
  if (!isDigest(digest)) throw invalidManifest(`${field}.digest is not a sha256 or sha512 digest`);
  const { size } = fields;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw invalidManifest(`${field}.size must be a number of bytes`);
  const urls = fields.urls;
  return {
    mediaType: requireString(fields.mediaType, `${field}.mediaType`),
    digest,
    size,
    platform: parsePlatform(fields.platform, `${field}.platform`),
    isForeign: Array.isArray(urls) && urls.length > 0,
  };
}

function parsePlatform(value: unknown, field: string): Platform | undefined {
  if (value === undefined || value === null) return undefined;
  const { architecture = "", os = "", variant = "" } = requireObject(value, field);
  return {
    architecture: requireString(architecture, `${field}.architecture`),
    os: requireString(os, `${field}.os`),
    variant: requireString(variant, `${field}.variant`),
  };
}

function parseAnnotations(value: unknown): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  const fields = requireObject(value, "annotations");
  for (const [key, value] of Object.entries(fields)) {
    requireString(key, "a key of annotations");
    requireString(value, `annotations["${key.slice(0, 200)}"]`);
  }
  return fields as Record<string, string>;
}

function requireObject(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalidManifest(`${field} must be an object`);
  return value as Record<string, unknown>;
}

function requireString(value: unknown, field: string): string {
  if (typeof value !== "string") throw invalidManifest(`${field} must be a string`);
  // Readers in C would see a shorter string, and PostgreSQL stores none.
  if (value.includes("\0")) throw invalidManifest(`${field} must not contain NUL`);
  return value;
}

function invalidManifest(description: string): OciError {
  return new OciError("MANIFEST_INVALID", `the manifest is invalid: ${description}`);
}
