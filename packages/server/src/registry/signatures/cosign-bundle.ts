/**
 * Converts a signature that cosign stores as a layer with annotations into a Sigstore bundle. The annotations hold the certificate and the
 * entry of the transparency log (cosign, specs/SIGNATURE_SPEC.md). Pure.
 */
import { createHash, X509Certificate } from "node:crypto";
import { type Json, recordOf } from "../../lib/is-record.ts";
import { invalid, parseJson, stringOf } from "./signature-json.ts";

/** Annotations of a layer; each is empty if the layer does not have it. */
export interface CosignAnnotations {
  /** In base64. Empty if the layer holds an envelope with its signature. */
  readonly signature: string;
  /** PEM. */
  readonly certificate: string;
  /** JSON: the entry of the transparency log. */
  readonly logEntry: string;
  /** JSON: a signed timestamp (RFC 3161) of the signature. */
  readonly timestamp: string;
}

const MEDIA_TYPE = "application/vnd.dev.sigstore.bundle+json;version=0.1";

/** @throws SyntaxError */
export function bundleFromSimple(payload: Uint8Array, annotations: CosignAnnotations): Json {
  const digest = createHash("sha256").update(payload).digest("base64");
  const timestamps = annotations.timestamp === "" ? [] : [timestampFrom(annotations.timestamp)];
  return {
    mediaType: MEDIA_TYPE,
    verificationMaterial: { ...materialFrom(annotations), timestampVerificationData: { rfc3161Timestamps: timestamps } },
    messageSignature: { messageDigest: { algorithm: "SHA2_256", digest }, signature: annotations.signature },
  };
}

/** @throws SyntaxError */
export function bundleFromEnvelope(dsseEnvelope: Json, annotations: CosignAnnotations): Json {
  return { mediaType: MEDIA_TYPE, verificationMaterial: materialFrom(annotations), dsseEnvelope };
}

function materialFrom({ certificate, logEntry }: CosignAnnotations): Json {
  return {
    x509CertificateChain: { certificates: [{ rawBytes: derFrom(certificate) }] },
    tlogEntries: logEntry === "" ? [] : [logEntryFrom(logEntry)],
  };
}

function derFrom(pem: string): string {
  try {
    return new X509Certificate(pem).raw.toString("base64");
  } catch {
    throw invalid("its certificate is not a certificate in PEM form");
  }
}

function logEntryFrom(text: string): Json {
  const { SignedEntryTimestamp: promise, Payload } = parseJson(Buffer.from(text));
  const { body, integratedTime, logIndex, logID } = recordOf(Payload) ?? {};
  const canonicalizedBody = stringOf(body, "body in its log entry");
  const { kind, apiVersion } = parseJson(Buffer.from(canonicalizedBody, "base64"));
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(stringOf(logID, "logID in its log entry"), "hex").toString("base64") },
    kindVersion: { kind: stringOf(kind, "kind in its log entry"), version: stringOf(apiVersion, "apiVersion in its log entry") },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp: stringOf(promise, "SignedEntryTimestamp in its log entry") },
    canonicalizedBody,
  };
}

function timestampFrom(text: string): Json {
  return { signedTimestamp: stringOf(parseJson(Buffer.from(text)).SignedRFC3161Timestamp, "SignedRFC3161Timestamp in its timestamp") };
}
