/**
 * Verifies one signature of an image with public keys and identities: cosign's simple signatures, DSSE envelopes, and Sigstore bundles.
 * Pure; runs on a parsing thread.
 */
import { type KeylessTrust, type KeylessVerdict, verifyKeyless } from "../../iam/signers/keyless-signature.ts";
import { type Json, recordOf, recordsOf } from "../../lib/is-record.ts";
import { isAbout } from "../statement.ts";
import { bundleFromEnvelope, bundleFromSimple, type CosignAnnotations } from "./cosign-bundle.ts";
import { findSigner, type TrustedKey } from "./key-signature.ts";
import { invalid, parseJson, stringOf } from "./signature-json.ts";
import { SIMPLE_SIGNATURE } from "./signature-types.ts";

const STATEMENT_TYPE = "application/vnd.in-toto+json";
/** Signatures in one envelope, of which one by a trusted key is enough. */
const MAX_ENVELOPE_SIGNATURES = 10;

/** The layer of an artifact that holds a signature. */
export interface SignedDocument extends KeylessTrust {
  readonly content: Uint8Array;
  readonly mediaType: string;
  readonly annotations: CosignAnnotations;
  /** Digest of the image that the signature must be about. */
  readonly subject: string;
  /** The manifest of that image, which a bundle without an envelope signs; empty for other media types. */
  readonly manifest: Uint8Array;
  readonly keys: readonly TrustedKey[];
}

/** `key` or `identity` is the uid of the signer. */
type Signed = { readonly state: "verified"; readonly key: string } | KeylessVerdict;
export type Verdict = Signed & { readonly predicateType?: string };

/** Never throws because of the document. */
export function verifySignature(document: SignedDocument): Verdict {
  try {
    return document.mediaType === SIMPLE_SIGNATURE ? verifySimple(document) : verifyDocument(document);
  } catch (error) {
    if (error instanceof SyntaxError) return { state: "invalid", reason: error.message };
    throw error;
  }
}

/** The payload itself is signed (cosign, specs/SIGNATURE_SPEC.md). */
function verifySimple(document: SignedDocument): Verdict {
  const { annotations, subject, keys } = document;
  const payload = bufferOf(document.content);
  const signed = findKey(payload, [annotations.signature], keys) ?? verifySimpleCertificate(payload, document);
  if (signed.state !== "verified") return signed;
  const critical = recordOf(parseJson(payload).critical);
  if (critical?.type !== "cosign container image signature") throw invalid("the payload is not a signature of cosign");
  if (recordOf(critical.image)?.["docker-manifest-digest"] !== subject) throw invalid("the signature is of another image");
  return signed;
}

function verifySimpleCertificate(payload: Buffer, { annotations, ...trust }: SignedDocument): Signed {
  return annotations.certificate === "" ? UNKNOWN_SIGNER : verifyKeyless(bundleFromSimple(payload, annotations), payload, trust);
}

function verifyDocument(document: SignedDocument): Verdict {
  const json = parseJson(bufferOf(document.content));
  const message = recordOf(json.messageSignature);
  return message === undefined ? verifyEnvelope(json, document) : verifyMessage(json, message, document);
}

/** The bytes of the image's manifest are signed. */
function verifyMessage(bundle: Json, message: Json, document: SignedDocument): Verdict {
  const manifest = bufferOf(document.manifest);
  const signature = stringOf(message.signature, "signature");
  return findKey(manifest, [signature], document.keys) ?? verifyCertificate(keylessOf(bundle), manifest, document);
}

/** The type and the payload are signed (DSSE, protocol.md). The payload is an in-toto statement about the image. */
function verifyEnvelope(json: Json, document: SignedDocument): Verdict {
  const envelope = recordOf(json.dsseEnvelope) ?? json;
  const payload = Buffer.from(stringOf(envelope.payload, "payload"), "base64");
  const type = stringOf(envelope.payloadType, "payloadType");
  const signatures = recordsOf(envelope.signatures)
    .slice(0, MAX_ENVELOPE_SIGNATURES)
    .map(({ sig }) => stringOf(sig, "sig"));
  const signed =
    findKey(preAuthEncoding(type, payload), signatures, document.keys) ??
    verifyCertificate(bundleOf(json, document.annotations), payload, document);
  if (signed.state !== "verified") return signed;
  if (type !== STATEMENT_TYPE) throw invalid("the payload is not an in-toto statement");
  const statement = parseJson(payload);
  if (!isAbout(statement, document.subject)) throw invalid("the statement is about another image");
  return { ...signed, predicateType: stringOf(statement.predicateType, "predicateType").slice(0, 500) };
}

/** Undefined if no certificate made the signature. */
function bundleOf(json: Json, annotations: CosignAnnotations): Json | undefined {
  if (json.dsseEnvelope !== undefined) return keylessOf(json);
  return annotations.certificate === "" ? undefined : bundleFromEnvelope(json, annotations);
}

function keylessOf(bundle: Json): Json | undefined {
  const material = recordOf(bundle.verificationMaterial);
  return material?.certificate === undefined && material?.x509CertificateChain === undefined ? undefined : bundle;
}

function findKey(signed: Buffer, signatures: readonly string[], keys: readonly TrustedKey[]): Signed | undefined {
  const key = findSigner(signed, signatures, keys);
  return key === undefined ? undefined : { state: "verified", key };
}

function verifyCertificate(bundle: Json | undefined, artifact: Uint8Array, trust: KeylessTrust): Signed {
  return bundle === undefined ? UNKNOWN_SIGNER : verifyKeyless(bundle, artifact, trust);
}

const UNKNOWN_SIGNER: Signed = { state: "unverified", reason: "no trusted key made this signature" };

function preAuthEncoding(type: string, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload]);
}

function bufferOf(content: Uint8Array): Buffer {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
}
