/** The readers of signatures and of the manifests that hold them, as parsers. */
import { defineParser } from "../../jobs/parsers.ts";
import { findSignatureLayers, type SignatureLayer } from "./signature-layers.ts";
import type { SignedDocument, Verdict } from "./verify-signature.ts";

/** Reading is linear, and takes two milliseconds for this size. */
const MAX_AT_ONCE = 32 * 1024;
const CPU_MS = 5000;
/** Each key hashes the document again: bytes in a millisecond, on a slow machine. */
const HASHED_BYTES_PER_MS = 200_000;

export const signatureLayersParser = defineParser<Uint8Array, readonly SignatureLayer[]>({
  module: new URL("./signature-layers.ts", import.meta.url),
  name: "findSignatureLayers",
  pool: "documents",
  cpuMs: () => CPU_MS,
  field: "digest",
  content: "the manifest of a referrer",
  atOnce: { isSmall: (content) => content.length <= MAX_AT_ONCE, parse: findSignatureLayers },
});

/** Always on a thread: a signature takes up to a millisecond for each key, and the library of Sigstore takes time to load. */
export const signatureParser = defineParser<SignedDocument, Verdict>({
  module: new URL("./verify-signature.ts", import.meta.url),
  name: "verifySignature",
  pool: "documents",
  cpuMs: ({ content, manifest, keys }) => CPU_MS + ((content.length + manifest.length) * keys.length) / HASHED_BYTES_PER_MS,
  field: "digest",
  content: "a signature of the image",
});
