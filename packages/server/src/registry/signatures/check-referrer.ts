/** Verifies the signatures of one artifact that is attached to an image. */
import { buffer } from "node:stream/consumers";
import { type BlobStore, NoSuchBlob } from "../../blobs/store.ts";
import type { ReadDb } from "../../db/store.ts";
import type { KeylessTrust } from "../../iam/signers/keyless-signature.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { findBlobSize } from "../content/blob-file.ts";
import type { TrustedKey } from "./key-signature.ts";
import type { SignatureLayer } from "./signature-layers.ts";
import { signatureLayersParser, signatureParser } from "./signature-parsers.ts";
import { isBundleType } from "./signature-types.ts";
import type { Verdict } from "./verify-signature.ts";

/** An attestation contains its SBOM. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

export interface CheckContext extends KeylessTrust {
  readonly db: ReadDb;
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
  readonly repoUid: string;
  /** Digest of the image. */
  readonly subject: string;
  /** Content of the image. */
  readonly manifest: Uint8Array;
  readonly keys: readonly TrustedKey[];
}

export interface CheckedSignature {
  readonly layer: SignatureLayer;
  readonly verdict: Verdict;
  /** Bytes that were read. */
  readonly size: number;
}

/** @param content of the artifact's manifest */
export async function checkReferrer(content: Uint8Array, context: CheckContext): Promise<readonly CheckedSignature[]> {
  const layers = await context.parsers.run(signatureLayersParser, content, context.repoUid);
  const checked: CheckedSignature[] = [];
  // One after another: each may be large.
  for (const layer of layers) checked.push(await checkLayer(layer, context));
  return checked;
}

async function checkLayer(layer: SignatureLayer, context: CheckContext): Promise<CheckedSignature> {
  const { db, blobs, parsers, repoUid, subject, keys, identities, trustedRoot } = context;
  const { mediaType, annotations, digest } = layer;
  // A layer with URLs may be a blob that only other repos link: its content is theirs.
  const size = (await findBlobSize(db, repoUid, digest)) ?? 0;
  if (size === 0) return missing(layer);
  if (size > MAX_DOCUMENT_BYTES) return { layer, size: 0, verdict: { state: "unverified", reason: TOO_LARGE } };
  try {
    // The file may be longer than the blob.
    const content = await buffer(await blobs.read(digest, { start: 0, end: size - 1 }));
    const manifest = isBundleType(mediaType) ? context.manifest : new Uint8Array();
    const document = { content, mediaType, annotations, subject, manifest, keys, identities, trustedRoot };
    const verdict = await parsers.run(signatureParser, document, repoUid);
    return { layer, size, verdict };
  } catch (error) {
    if (error instanceof NoSuchBlob) return missing(layer);
    // One hostile document must not keep the others from being listed.
    if (error instanceof HoltError && error.code === Code.INVALID_ARGUMENT)
      return { layer, size, verdict: { state: "invalid", reason: error.message } };
    throw error;
  }
}

function missing(layer: SignatureLayer): CheckedSignature {
  return { layer, size: 0, verdict: { state: "unverified", reason: "its content is missing" } };
}

const TOO_LARGE = `it is larger than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MiB`;
