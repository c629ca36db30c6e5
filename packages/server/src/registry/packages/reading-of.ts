/** Chooses what to read of a manifest: the layers of an image, or the SBOMs that it attaches. Pure. */
import type { Descriptor, Manifest } from "../content/manifest.ts";
import type { Reading } from "./content-reader.ts";

/** Media types of layers, of the image specification (layer.md) and of Docker: with or without compression, distributable or not. */
const LAYER =
  /^application\/vnd\.(?:oci\.image\.layer\.(?:nondistributable\.)?v1\.tar(?:\+gzip|\+zstd)?|docker\.image\.rootfs\.(?:diff|foreign\.diff)\.tar(?:\.gzip|\.zstd)?)$/;
/** Media types of SBOMs, and of the attestations that contain them. */
const DOCUMENT =
  /^(?:(?:application|text)\/)?(?:(?:vnd\.)?spdx(?:\.document)?\+json|vnd\.cyclonedx\+json|vnd\.in-toto\+json|vnd\.dsse\.envelope\.v1\+json|vnd\.dev\.sigstore\.bundle(?:\.v0\.\d+)?\+json)(?:;.*)?$/;

/** Undefined where there is nothing to read. */
export function readingOf({ layers, subject }: Pick<Manifest, "layers" | "subject">): Reading | undefined {
  const documents = layers.filter(({ mediaType }) => DOCUMENT.test(mediaType));
  if (documents.length > 0) return { kind: "sbom", documents: withoutDuplicates(documents), subject };
  const isImage = layers.some(({ mediaType }) => LAYER.test(mediaType));
  return isImage ? { kind: "image", layers: withoutDuplicates(layers) } : undefined;
}

/** A blob that a manifest names several times is read once: a layer has its effect at its last position. */
function withoutDuplicates(blobs: readonly Descriptor[]): Descriptor[] {
  const last = new Map<string, Descriptor>();
  for (const blob of blobs) {
    last.delete(blob.digest);
    last.set(blob.digest, blob);
  }
  return [...last.values()];
}
