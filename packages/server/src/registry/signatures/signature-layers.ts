/** Finds the layers of a stored manifest that hold signatures. Pure; runs on a parsing thread if the manifest is large. */
import { isDigest } from "../../blobs/digest.ts";
import { type Json, recordOf, recordsOf } from "../../lib/is-record.ts";
import type { CosignAnnotations } from "./cosign-bundle.ts";
import { parseJson } from "./signature-json.ts";
import { isSignatureType } from "./signature-types.ts";

/** Signatures of one artifact. Cosign adds a layer for each signer. */
const MAX_LAYERS = 20;
/** Characters. A signature of RSA with 8,192 bits has 1,400, a certificate 5,000. A log entry may contain both. */
const MAX_ANNOTATION = 64 * 1024;

export interface SignatureLayer {
  readonly mediaType: string;
  readonly digest: string;
  readonly annotations: CosignAnnotations;
}

/** @param content of a manifest that the registry has accepted */
export function findSignatureLayers(content: Uint8Array): readonly SignatureLayer[] {
  return recordsOf(parseJson(Buffer.from(content)).layers)
    .flatMap(layerOf)
    .slice(0, MAX_LAYERS);
}

function layerOf({ mediaType, digest, annotations }: Json): readonly SignatureLayer[] {
  if (typeof mediaType !== "string" || !isSignatureType(mediaType)) return [];
  if (typeof digest !== "string" || !isDigest(digest)) return [];
  const annotation = (name: string): string => {
    const value = recordOf(annotations)?.[name];
    return typeof value === "string" ? value.slice(0, MAX_ANNOTATION) : "";
  };
  const found = {
    signature: annotation("dev.cosignproject.cosign/signature"),
    certificate: annotation("dev.sigstore.cosign/certificate"),
    logEntry: annotation("dev.sigstore.cosign/bundle"),
    timestamp: annotation("dev.sigstore.cosign/rfc3161timestamp"),
  };
  return [{ mediaType, digest, annotations: found }];
}
