/** Decides whether a signature with a short-lived certificate is by an identity that a group trusts. Pure; runs on parsing threads. */
import type { SignatureIdentity } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { type Signer, verifyBundle } from "../../lib/sigstore/verify-bundle.ts";
import { createMatching } from "../tokens/pattern.ts";

export type TrustedIdentity = Pick<SignatureIdentity, "uid" | "issuer" | "sub">;

export interface KeylessTrust {
  /** `trusted_root.json`; empty if the operator has not configured one. */
  readonly trustedRoot: string;
  readonly identities: readonly TrustedIdentity[];
}

/** `signer` is set if the trusted root confirms the signature. */
export type KeylessVerdict =
  | { readonly state: "verified"; readonly identity: string; readonly signer: Signer }
  | { readonly state: "unverified" | "invalid"; readonly reason: string; readonly signer?: Signer };

/** @param artifact the bytes that a bundle without an envelope signs */
export function verifyKeyless(bundle: unknown, artifact: Uint8Array, { trustedRoot, identities }: KeylessTrust): KeylessVerdict {
  if (trustedRoot === "") return { state: "unverified", reason: NO_ROOT };
  const verdict = verifyBundle(bundle, { artifact, trustedRoot });
  if (!("signer" in verdict)) return verdict;
  const { signer } = verdict;
  const identity = identities.find(createSignerMatcher(signer))?.uid;
  if (identity === undefined) return { state: "unverified", reason: UNKNOWN_IDENTITY, signer };
  return { state: "verified", identity, signer };
}

const NO_ROOT = "it is signed with a certificate, and the server has no trusted root to verify it with";
const UNKNOWN_IDENTITY = "no signature identity matches its certificate";

function createSignerMatcher({ issuer, subject }: Signer): (identity: TrustedIdentity) => boolean {
  const matches = createMatching();
  return ({ issuer: trusted, sub }) => {
    if (trusted !== issuer || subject === "") return false;
    return sub.case === "subjectPattern" ? matches(sub.value, subject) : sub.value === subject;
  };
}
