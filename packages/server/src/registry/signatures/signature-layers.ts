/** Finds the layers of a stored manifest that hold signatures. Pure; runs on a parsing thread if the manifest is large. */
import { isDigest } from "../../blobs/digest.ts";
import { type Json, parseJson, recordOf, recordsOf } from "./signature-json.ts";
import { isSignatureType } from "./verify-signature.ts";

/** Signatures of one artifact. Cosign adds a layer for each signer. */
const MAX_LAYERS = 20;
/** Characters. A signature of RSA with 8,192 bits has 1,400. */
const MAX_SIGNATURE = 4096;

export interface SignatureLayer {
  readonly mediaType: string;
  readonly digest: string;
  /** In base64; empty if the layer holds the signature itself. */
  readonly signature: string;
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
  const signature = recordOf(annotations)?.["dev.cosignproject.cosign/signature"];
  return [{ mediaType, digest, signature: typeof signature === "string" ? signature.slice(0, MAX_SIGNATURE) : "" }];
}
