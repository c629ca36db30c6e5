/** What of a manifest is to be read: the layers of an image, or the SBOMs that it brings. Pure. */
import type { Descriptor, Manifest } from "../content/manifest.ts";
import type { Reading } from "./content-reader.ts";

/** Image specification, layer.md, and Docker's: with or without compression, also where they may not be distributed. */
const LAYER =
  /^application\/vnd\.(?:oci\.image\.layer\.(?:nondistributable\.)?v1\.tar(?:\+gzip|\+zstd)?|docker\.image\.rootfs\.(?:diff|foreign\.diff)\.tar(?:\.gzip|\.zstd)?)$/;
/** Documents, and what they are attested in. */
const DOCUMENT =
  /^(?:(?:application|text)\/)?(?:(?:vnd\.)?spdx(?:\.document)?\+json|vnd\.cyclonedx\+json|vnd\.in-toto\+json|vnd\.dsse\.envelope\.v1\+json|vnd\.dev\.sigstore\.bundle(?:\.v0\.\d+)?\+json)(?:;.*)?$/;

/** Undefined where there is nothing. */
export function readingOf({ layers, subject }: Pick<Manifest, "layers" | "subject">): Reading | undefined {
  const documents = layers.filter(({ mediaType }) => DOCUMENT.test(mediaType));
  if (documents.length > 0) return { kind: "sbom", documents: eachOnce(documents), subject };
  const isImage = layers.some(({ mediaType }) => LAYER.test(mediaType));
  return isImage ? { kind: "image", layers: eachOnce(layers) } : undefined;
}

/** What a manifest names again is not read again: its last place says what it leaves. */
function eachOnce(blobs: readonly Descriptor[]): Descriptor[] {
  const last = new Map<string, Descriptor>();
  for (const blob of blobs) {
    last.delete(blob.digest);
    last.set(blob.digest, blob);
  }
  return [...last.values()];
}
