/** Reads manifests and indexes from strangers: what they are, and what they refer to. Looks at nothing but the bytes. */
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

/** Image specification, descriptor.md, as far as the registry reads it. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform: Platform | undefined;
  /** Whether a client may have it from elsewhere, so that the registry need not (layers that may not be distributed). */
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
  /** What the referrers API calls its type: its own, or its config's media type; undefined for an index without one. */
  readonly artifactType: string | undefined;
  readonly config: Descriptor | undefined;
  readonly layers: readonly Descriptor[];
  /** Of an index. */
  readonly children: readonly Descriptor[];
  /** Digest, of a manifest that may be there or not. */
  readonly subject: string | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

export function isManifestType(mediaType: string): boolean {
  return KINDS.has(mediaType);
}

/**
 * @param contentType of the request; its parameters are ignored. Without one, the manifest's own word counts
 * @throws OciError MANIFEST_INVALID
 */
export function parseManifest(content: Uint8Array, contentType: string | undefined): Manifest {
  const fields = record(parseJson(content), "the manifest");
  const claimed = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  const own = fields.mediaType === undefined ? undefined : text(fields.mediaType, "mediaType");
  const mediaType = own ?? claimed ?? "";
  // A parser that believes the one would read other things out of it than a parser that believes the other.
  if (own !== undefined && claimed !== undefined && own !== claimed) throw invalid(`mediaType is ${own}, but Content-Type is ${claimed}`);
  const kind = KINDS.get(mediaType);
  if (kind === undefined) throw invalid(`"${mediaType.slice(0, 200)}" is not the type of a manifest that this registry takes`);
  if (fields.schemaVersion !== 2) throw invalid("schemaVersion must be 2");
  if (kind === "manifest" ? fields.manifests !== undefined : fields.layers !== undefined || fields.config !== undefined)
    throw invalid("it has the fields of both an image manifest and an index");
  const config = kind === "manifest" ? descriptor(fields.config, "config") : undefined;
  const ownType = fields.artifactType === undefined ? "" : text(fields.artifactType, "artifactType");
  return {
    kind,
    mediaType,
    artifactType: ownType || config?.mediaType,
    config,
    layers: kind === "manifest" ? descriptors(fields.layers, "layers") : [],
    children: kind === "index" ? descriptors(fields.manifests, "manifests") : [],
    subject: fields.subject === undefined || fields.subject === null ? undefined : descriptor(fields.subject, "subject").digest,
    annotations: annotations(fields.annotations),
  };
}

function parseJson(content: Uint8Array): unknown {
  try {
    return parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch (error) {
    throw invalid(`it is not JSON: ${(error as Error).message}`);
  }
}

function descriptors(value: unknown, field: string): Descriptor[] {
  if (value === null || value === undefined) throw invalid(`${field} is missing`);
  if (!Array.isArray(value)) throw invalid(`${field} must be an array`);
  return value.map((element, at) => descriptor(element, `${field}[${at}]`));
}

function descriptor(value: unknown, field: string): Descriptor {
  const fields = record(value, field);
  const digest = text(fields.digest, `${field}.digest`);
  if (!isDigest(digest)) throw invalid(`${field}.digest is not a sha256 or sha512 digest`);
  const { size } = fields;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw invalid(`${field}.size must be a number of bytes`);
  const urls = fields.urls;
  return {
    mediaType: text(fields.mediaType, `${field}.mediaType`),
    digest,
    size,
    platform: platform(fields.platform, `${field}.platform`),
    isForeign: Array.isArray(urls) && urls.length > 0,
  };
}

function platform(value: unknown, field: string): Platform | undefined {
  if (value === undefined || value === null) return undefined;
  const { architecture = "", os = "", variant = "" } = record(value, field);
  return {
    architecture: text(architecture, `${field}.architecture`),
    os: text(os, `${field}.os`),
    variant: text(variant, `${field}.variant`),
  };
}

function annotations(value: unknown): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  const fields = record(value, "annotations");
  for (const key of Object.keys(fields)) text(fields[key], `annotations["${key.slice(0, 200)}"]`);
  return fields as Record<string, string>;
}

function record(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`${field} must be an object`);
  return value as Record<string, unknown>;
}

function text(value: unknown, field: string): string {
  if (typeof value !== "string") throw invalid(`${field} must be a string`);
  return value;
}

function invalid(description: string): OciError {
  return new OciError("MANIFEST_INVALID", `the manifest is invalid: ${description}`);
}
