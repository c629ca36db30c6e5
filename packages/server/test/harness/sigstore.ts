/** A Sigstore of a test's own: certificate authority, certificate log and transparency log, with keys made for the test. */
import { createHash, generateKeyPairSync, type KeyObject, sign, X509Certificate } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initializeCA, initializeCTLog, initializeTLog } from "@sigstore/mock";

export const ISSUER = "https://ci.example.com";
export const SUBJECT = "https://git.example.com/my-org/app/release.yaml@refs/heads/main";
const ISSUER_OID = "1.3.6.1.4.1.57264.1.8";
const LOG_URL = "https://log.example.com";
const HOUR_MS = 60 * 60 * 1000;

export interface SigningOptions {
  readonly issuer?: string;
  readonly subject?: string;
  /** The log entry is an hour later than the certificate, which lives for ten minutes. */
  readonly isLate?: boolean;
}

/** A signature, and what proves it. All byte strings are in base64. */
export interface KeylessSignature {
  readonly signature: string;
  readonly certificate: string;
  readonly certificatePem: string;
  /** In the JSON of bundles. */
  readonly logEntry: LogEntry;
}

export interface LogEntry {
  readonly logIndex: string;
  readonly logId: { readonly keyId: string };
  readonly kindVersion: { readonly kind: string; readonly version: string };
  readonly integratedTime: string;
  readonly inclusionPromise: { readonly signedEntryTimestamp: string };
  readonly inclusionProof: object;
  readonly canonicalizedBody: string;
}

export interface TestSigstore {
  /** `trusted_root.json`. */
  readonly trustedRoot: string;
  /** Signs bytes, and logs them as `hashedrekord`. */
  signBytes(bytes: Uint8Array, options?: SigningOptions): Promise<KeylessSignature>;
  /** Signs the payload of an in-toto envelope (DSSE), and logs it as `dsse`. */
  signStatement(payload: string, options?: SigningOptions): Promise<KeylessSignature>;
}

export const STATEMENT_TYPE = "application/vnd.in-toto+json";
/** Node's type of views has more members than the mock's. */
type View = Pick<Uint8Array, "buffer" | "byteOffset" | "byteLength">;
const base64 = (bytes: View | string) =>
  (typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("base64");
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const createKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

export async function createSigstore(): Promise<TestSigstore> {
  const [caKeys, ctKeys, logKeys] = [createKeys(), createKeys(), createKeys()];
  const ctLog = await initializeCTLog(ctKeys);
  const ca = await initializeCA(caKeys, ctLog);
  const log = await initializeTLog(LOG_URL, logKeys);
  const lateLog = await initializeTLog(LOG_URL, logKeys, new Date(Date.now() + HOUR_MS));

  async function prove(signed: Buffer, entryOf: (signature: string, verifier: string) => object, options: SigningOptions) {
    const { issuer = ISSUER, subject = SUBJECT, isLate = false } = options;
    const { publicKey, privateKey } = createKeys();
    const extensions = [{ oid: ISSUER_OID, value: issuer }];
    const spki = publicKey.export({ type: "spki", format: "der" });
    const der = await ca.issueCertificate({ publicKey: spki, subjectAltName: subject, extensions });
    const certificate = base64(der);
    const certificatePem = new X509Certificate(Buffer.from(certificate, "base64")).toString();
    const signature = base64(sign("sha256", signed, privateKey));
    const entry = entryOf(signature, base64(certificatePem));
    const logged = await (isLate ? lateLog : log).log(entry);
    return { signature, certificate, certificatePem, logEntry: logEntryFrom(Object.values(logged)[0] as unknown as Logged) };
  }

  return {
    trustedRoot: JSON.stringify({
      mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
      tlogs: [trustedLog(log.publicKey, logKeys.publicKey)],
      certificateAuthorities: [{ certChain: { certificates: [{ rawBytes: base64(ca.rootCertificate) }] }, validFor: validity() }],
      ctlogs: [trustedLog(ctLog.publicKey, ctKeys.publicKey)],
      timestampAuthorities: [],
    }),
    signBytes: (bytes, options = {}) =>
      prove(
        Buffer.from(bytes),
        (content, verifier) => ({
          apiVersion: "0.0.1",
          kind: "hashedrekord",
          spec: {
            data: { hash: { algorithm: "sha256", value: sha256(bytes) } },
            signature: { content, publicKey: { content: verifier } },
          },
        }),
        options,
      ),
    signStatement: (payload, options = {}) =>
      prove(
        Buffer.from(`DSSEv1 ${STATEMENT_TYPE.length} ${STATEMENT_TYPE} ${Buffer.byteLength(payload)} ${payload}`),
        (signature, verifier) => ({
          apiVersion: "0.0.1",
          kind: "dsse",
          spec: {
            envelopeHash: { algorithm: "sha256", value: sha256(Buffer.from(payload)) },
            payloadHash: { algorithm: "sha256", value: sha256(Buffer.from(payload)) },
            signatures: [{ signature, verifier }],
          },
        }),
        options,
      ),
  };
}

/** @returns the path of a new file, for HOLT_SIGSTORE_TRUSTED_ROOT */
export function writeTrustedRoot(trustedRoot: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "holt-sigstore-")), "trusted_root.json");
  writeFileSync(path, trustedRoot);
  return path;
}

function validity(): object {
  return { start: new Date(Date.now() - HOUR_MS).toISOString() };
}

function trustedLog(rawBytes: Uint8Array, key: KeyObject): object {
  const keyId = createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("base64");
  return {
    baseUrl: LOG_URL,
    hashAlgorithm: "SHA2_256",
    publicKey: { rawBytes: base64(rawBytes), keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor: validity() },
    logId: { keyId },
  };
}

/** An entry as the log answers it. */
interface Logged {
  readonly body: string;
  readonly integratedTime: number;
  readonly logID: string;
  readonly logIndex: number;
  readonly verification: {
    readonly signedEntryTimestamp: string;
    readonly inclusionProof: { logIndex: number; treeSize: number; checkpoint: string; hashes: string[]; rootHash: string };
  };
}

function logEntryFrom({ body, integratedTime, logID, logIndex, verification }: Logged): LogEntry {
  const { kind, apiVersion } = JSON.parse(Buffer.from(body, "base64").toString()) as { kind: string; apiVersion: string };
  const { inclusionProof: proof, signedEntryTimestamp } = verification;
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(logID, "hex").toString("base64") },
    kindVersion: { kind, version: apiVersion },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof.logIndex),
      treeSize: String(proof.treeSize),
      rootHash: Buffer.from(proof.rootHash, "hex").toString("base64"),
      hashes: [],
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: body,
  };
}

const BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json";

/** A Sigstore bundle around an in-toto statement. */
export function bundleOfStatement(payload: string, { signature, certificate, logEntry }: KeylessSignature) {
  return {
    mediaType: BUNDLE_TYPE,
    verificationMaterial: { certificate: { rawBytes: certificate }, tlogEntries: [logEntry] },
    dsseEnvelope: { payload: base64(payload), payloadType: STATEMENT_TYPE, signatures: [{ sig: signature }] },
  };
}

/** A Sigstore bundle of a signature of bytes. */
export function bundleOfBytes(bytes: Uint8Array, { signature, certificate, logEntry }: KeylessSignature) {
  return {
    mediaType: BUNDLE_TYPE,
    verificationMaterial: { certificate: { rawBytes: certificate }, tlogEntries: [logEntry] },
    messageSignature: {
      messageDigest: { algorithm: "SHA2_256", digest: Buffer.from(sha256(bytes), "hex").toString("base64") },
      signature,
    },
  };
}

/** The annotations in which cosign stores the certificate and the log entry. */
export function cosignAnnotations({ signature, certificatePem, logEntry }: KeylessSignature): Record<string, string> {
  const { canonicalizedBody: body, integratedTime, logIndex, logId, inclusionPromise } = logEntry;
  const Payload = {
    body,
    integratedTime: Number(integratedTime),
    logIndex: Number(logIndex),
    logID: Buffer.from(logId.keyId, "base64").toString("hex"),
  };
  return {
    "dev.cosignproject.cosign/signature": signature,
    "dev.sigstore.cosign/certificate": certificatePem,
    "dev.sigstore.cosign/bundle": JSON.stringify({ SignedEntryTimestamp: inclusionPromise.signedEntryTimestamp, Payload }),
  };
}
