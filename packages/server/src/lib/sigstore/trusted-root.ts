/** Reads a trusted root of Sigstore: the certificate authorities and logs that the operator trusts, as JSON. Pure. */
import { TrustedRoot } from "@sigstore/protobuf-specs";
import { type TrustMaterial, toTrustMaterial } from "@sigstore/verify";

export interface Trust {
  readonly material: TrustMaterial;
  /** Certificates need a proof by a certificate transparency log if the root has one. */
  readonly ctlogThreshold: number;
  /** Signatures need an entry in a transparency log if the root has one. */
  readonly tlogThreshold: number;
}

/** @param text `trusted_root.json`. @throws Error that says what is wrong */
export function parseTrustedRoot(text: string): Trust {
  const root = TrustedRoot.fromJSON(JSON.parse(text));
  if (root.certificateAuthorities.length === 0) throw new Error("it has no certificateAuthorities");
  if (root.tlogs.length === 0 && root.timestampAuthorities.length === 0) throw new Error("it has neither tlogs nor timestampAuthorities");
  const material = toTrustMaterial(root);
  return { material, ctlogThreshold: Math.min(root.ctlogs.length, 1), tlogThreshold: Math.min(root.tlogs.length, 1) };
}
