/** Reads a manifest for another thread, to which errors of the registry cannot be thrown. */
import { OciError } from "../oci-error.ts";
import { type Manifest, parseManifest } from "./manifest.ts";

export interface ManifestFile {
  readonly content: Uint8Array;
  readonly contentType: string | undefined;
}

/** The manifest, or why it is invalid. */
export type ReadManifest = { readonly manifest: Manifest } | { readonly problem: string };

export function readManifest({ content, contentType }: ManifestFile): ReadManifest {
  try {
    return { manifest: parseManifest(content, contentType) };
  } catch (error) {
    if (error instanceof OciError) return { problem: error.message };
    throw error;
  }
}
