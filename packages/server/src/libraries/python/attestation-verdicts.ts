/** Verifies the stored attestations of a Python file with the identities that its group trusts. Pure; runs on a parsing thread. */
import { type KeylessTrust, type KeylessVerdict, verifyKeyless } from "../../iam/signers/keyless-signature.ts";
import { type Json, recordOf } from "../../lib/is-record.ts";
import { PAYLOAD_TYPE } from "./attestation.ts";
import type { Provenance } from "./provenance.ts";

export interface StoredAttestations extends KeylessTrust {
  /** The provenance object of the file. The upload checked the form and the subject of its attestations. */
  readonly provenance: string;
}

export interface CheckedAttestation {
  /** Uid of the identity that uploaded it. */
  readonly publisher: string;
  readonly predicateType: string;
  readonly verdict: KeylessVerdict;
}

export function verifyAttestations({ provenance, ...trust }: StoredAttestations): readonly CheckedAttestation[] {
  const { attestation_bundles: bundles } = JSON.parse(provenance) as Provenance;
  return bundles.flatMap(({ publisher, attestations }) =>
    attestations.map((attestation) => ({ publisher: publisher.identity ?? "", ...verifyAttestation(attestation as Json, trust) })),
  );
}

function verifyAttestation(
  { envelope, verification_material: material }: Json,
  trust: KeylessTrust,
): Omit<CheckedAttestation, "publisher"> {
  const { statement = "", signature } = (recordOf(envelope) ?? {}) as { readonly statement?: string; readonly signature?: string };
  const bundle = {
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: {
      certificate: { rawBytes: recordOf(material)?.certificate },
      tlogEntries: recordOf(material)?.transparency_entries,
    },
    dsseEnvelope: { payload: statement, payloadType: PAYLOAD_TYPE, signatures: [{ sig: signature }] },
  };
  const payload = Buffer.from(statement, "base64");
  const { predicateType } = JSON.parse(payload.toString("utf8")) as { readonly predicateType: string };
  return { predicateType, verdict: verifyKeyless(bundle, payload, trust) };
}
