/**
 * Verifies one signature of an image with public keys: cosign's simple signatures, DSSE envelopes, and envelopes in Sigstore bundles.
 * Pure; runs on a parsing thread.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { invalid, type Json, parseJson, recordOf, recordsOf, stringOf } from "./signature-json.ts";

export const SIMPLE_SIGNATURE = "application/vnd.dev.cosign.simplesigning.v1+json";
export const ENVELOPE = "application/vnd.dsse.envelope.v1+json";
const BUNDLE = /^application\/vnd\.dev\.sigstore\.bundle(?:\.v[\d.]+\+json|\+json;version=[\d.]+)$/;
const STATEMENT_TYPE = "application/vnd.in-toto+json";
/** Signatures in one envelope, of which one by a trusted key is enough. */
const MAX_ENVELOPE_SIGNATURES = 10;

export interface TrustedKey {
  readonly uid: string;
  /** PEM. */
  readonly publicKey: string;
}

/** The layer of an artifact that holds a signature. */
export interface SignedDocument {
  readonly content: Uint8Array;
  readonly mediaType: string;
  /** The signature of a simple signature, in base64, from the layer's annotations. */
  readonly signature: string;
  /** Digest of the image that the signature must be about. */
  readonly subject: string;
  readonly keys: readonly TrustedKey[];
}

export type Verdict =
  | { readonly state: "verified"; readonly key: string; readonly predicateType: string }
  | { readonly state: "unverified" | "invalid"; readonly reason: string };

export function isSignatureType(mediaType: string): boolean {
  return mediaType === SIMPLE_SIGNATURE || mediaType === ENVELOPE || BUNDLE.test(mediaType);
}

/** Never throws because of the document. */
export function verifySignature(document: SignedDocument): Verdict {
  try {
    return document.mediaType === SIMPLE_SIGNATURE ? verifySimple(document) : verifyEnvelope(document);
  } catch (error) {
    if (error instanceof SyntaxError) return { state: "invalid", reason: error.message };
    throw error;
  }
}

/** The payload itself is signed (cosign, specs/SIGNATURE_SPEC.md). */
function verifySimple({ content, signature, subject, keys }: SignedDocument): Verdict {
  const payload = bufferOf(content);
  const key = findSigner(payload, [signature], keys);
  if (key === undefined) return UNKNOWN_SIGNER;
  const critical = recordOf(parseJson(payload).critical);
  if (critical?.type !== "cosign container image signature") throw invalid("the payload is not a signature of cosign");
  if (recordOf(critical.image)?.["docker-manifest-digest"] !== subject) throw invalid("the signature is of another image");
  return { state: "verified", key, predicateType: "" };
}

/** The type and the payload are signed (DSSE, protocol.md). The payload is an in-toto statement about the image. */
function verifyEnvelope({ content, subject, keys }: SignedDocument): Verdict {
  const document = parseJson(bufferOf(content));
  const envelope = recordOf(document.dsseEnvelope) ?? document;
  if (recordOf(document.messageSignature) !== undefined) return unverified("a bundle without an envelope is not supported");
  const payload = Buffer.from(stringOf(envelope.payload, "payload"), "base64");
  const type = stringOf(envelope.payloadType, "payloadType");
  const signatures = recordsOf(envelope.signatures).slice(0, MAX_ENVELOPE_SIGNATURES);
  const key = findSigner(
    preAuthEncoding(type, payload),
    signatures.map(({ sig }) => stringOf(sig, "sig")),
    keys,
  );
  if (key === undefined) return isKeyless(document) ? unverified(KEYLESS) : UNKNOWN_SIGNER;
  if (type !== STATEMENT_TYPE) throw invalid("the payload is not an in-toto statement");
  const statement = parseJson(payload);
  if (!isAbout(statement, subject)) throw invalid("the statement is about another image");
  return { state: "verified", key, predicateType: stringOf(statement.predicateType, "predicateType").slice(0, 500) };
}

const UNKNOWN_SIGNER: Verdict = { state: "unverified", reason: "no trusted key made this signature" };
const KEYLESS = "it is signed with a certificate; only signatures by keys are verified";

function unverified(reason: string): Verdict {
  return { state: "unverified", reason };
}

function isKeyless({ verificationMaterial }: Json): boolean {
  const material = recordOf(verificationMaterial);
  return material?.certificate !== undefined || material?.x509CertificateChain !== undefined;
}

function preAuthEncoding(type: string, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload]);
}

function isAbout({ subject }: Json, digest: string): boolean {
  const [algorithm = "", hex] = digest.split(":");
  return recordsOf(subject).some((each) => recordOf(each.digest)?.[algorithm] === hex);
}

/** @returns the uid of the key that made one of the signatures */
function findSigner(signed: Buffer, signatures: readonly string[], keys: readonly TrustedKey[]): string | undefined {
  const decoded = signatures.map((signature) => Buffer.from(signature, "base64"));
  return keys.find(({ publicKey }) => {
    const key = createPublicKey(publicKey);
    return decoded.some((signature) => hashesOf(key).some((hash) => verify(hash, signed, key, signature)));
  })?.uid;
}

/** Cosign hashes with SHA-256 for every curve; other tools use the hash that belongs to the curve. */
function hashesOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly (string | null)[] {
  if (asymmetricKeyType === "ed25519") return [null];
  if (asymmetricKeyDetails?.namedCurve === "secp384r1") return ["sha256", "sha384"];
  if (asymmetricKeyDetails?.namedCurve === "secp521r1") return ["sha256", "sha512"];
  return ["sha256"];
}

function bufferOf(content: Uint8Array): Buffer {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
}
