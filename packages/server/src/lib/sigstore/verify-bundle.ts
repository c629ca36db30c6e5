/**
 * Verifies Sigstore bundles whose signatures were made with short-lived certificates. It needs the trusted root of the operator, and
 * neither the network nor the current time: a log or a timestamp authority proves when a signature was made. Pure.
 */
import { X509Certificate } from "node:crypto";
import { type Bundle, bundleFromJSON } from "@sigstore/bundle";
import { toSignedEntity, VerificationError, Verifier } from "@sigstore/verify";
import { recordOf } from "../is-record.ts";
import { parseTrustedRoot } from "./trusted-root.ts";

/** The identity that a certificate names. */
export interface Signer {
  readonly issuer: string;
  readonly subject: string;
}

export type BundleVerdict = { readonly signer: Signer } | { readonly state: "unverified" | "invalid"; readonly reason: string };

export interface BundleContext {
  /** The bytes that a bundle without an envelope signs. */
  readonly artifact: Uint8Array;
  /** `trusted_root.json`. */
  readonly trustedRoot: string;
}

/** Entries and timestamps, of which each is verified. Clients write one or two. */
const MAX_PROOFS = 10;
const CODE_SIGNING = "1.3.6.1.5.5.7.3.3";
/** In the signature lines of a checkpoint. */
const LOG_NAME = /\u2014 (\S+) /g;
const MAX_REASON = 300;

/** @param json of a bundle that holds a certificate. Never throws because of it */
export function verifyBundle(json: unknown, { artifact, trustedRoot }: BundleContext): BundleVerdict {
  const trust = parseTrustedRoot(trustedRoot);
  try {
    const bundle = parseBundle(json);
    const { ctlogThreshold, tlogThreshold } = trust;
    const entity = toSignedEntity(bundle, Buffer.from(artifact));
    const { identity } = new Verifier(trust.material, { ctlogThreshold, tlogThreshold }).verify(entity);
    const { subjectAlternativeName: subject = "", extensions } = identity ?? {};
    return { signer: { issuer: extensions?.issuer ?? "", subject } };
  } catch (error) {
    // The library throws errors of any class for hostile bundles.
    if (!(error instanceof VerificationError)) return { state: "invalid", reason: `it is not a valid Sigstore bundle: ${reasonOf(error)}` };
    return { state: "unverified", reason: `the trusted root does not confirm the signature: ${reasonOf(error)}` };
  }
}

function parseBundle(json: unknown): Bundle {
  const { tlogEntries = [], timestampVerificationData } = recordOf(recordOf(json)?.verificationMaterial) ?? {};
  const { rfc3161Timestamps = [] } = recordOf(timestampVerificationData) ?? {};
  for (const proofs of [tlogEntries, rfc3161Timestamps])
    if (!Array.isArray(proofs) || proofs.length > MAX_PROOFS) throw new Error(`it has more than ${MAX_PROOFS} log entries or timestamps`);
  const bundle = bundleFromJSON(json);
  assertCodeSigning(bundle);
  assertPlainLogNames(bundle);
  return bundle;
}

/** The library uses the names of logs as regular expressions, and a hostile one could take a long time. */
function assertPlainLogNames({ verificationMaterial: { tlogEntries } }: Bundle): void {
  const checkpoints = tlogEntries.map(({ inclusionProof }) => inclusionProof?.checkpoint?.envelope ?? "");
  const names = checkpoints.flatMap((checkpoint) => [...checkpoint.matchAll(LOG_NAME)].map(([, name = ""]) => name));
  if (!names.every((name) => /^[\w.:/-]+$/.test(name))) throw new Error("its log has a name with special characters");
}

/** An authority may also issue certificates for servers, whose owners are not meant to sign. */
function assertCodeSigning({ verificationMaterial: { content } }: Bundle): void {
  const certificate = content.$case === "certificate" ? content.certificate : undefined;
  const first = content.$case === "x509CertificateChain" ? content.x509CertificateChain.certificates[0] : certificate;
  if (first === undefined) throw new Error("it has no certificate");
  if (!new X509Certificate(first.rawBytes).keyUsage?.includes(CODE_SIGNING)) throw new Error("its certificate is not for signing code");
}

/** The cause is more specific where there is one. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return (cause instanceof Error ? cause.message : message).slice(0, MAX_REASON);
}
