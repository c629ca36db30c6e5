/** Lists the attestations of a project's files, and whether they are by identities that the group trusts. */
import { create } from "@bufbuild/protobuf";
import { SignatureState } from "@holt/api/gen/holt/v1/image_referrers_pb.ts";
import {
  type ListPythonAttestationsRequest,
  type ListPythonAttestationsResponse,
  ListPythonAttestationsResponseSchema,
  type PythonAttestation,
  PythonAttestationSchema,
} from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { assertConnected } from "../../api/call/assert-connected.ts";
import type { Call } from "../../api/call/call.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import { findSignatureIdentities } from "../../iam/signers/signature-identity.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { parentOf } from "../../lib/uid.ts";
import { attestationParser } from "../python/attestation-parser.ts";
import type { CheckedAttestation } from "../python/attestation-verdicts.ts";
import { findAttestedFiles, readProvenance } from "../python/provenance.ts";

/** A page ends after the file that reaches it. */
const MAX_ATTESTATIONS_PER_PAGE = 100;

export interface AttestationCollaborators {
  readonly pageTokens: PageTokens;
  readonly parsers: Parsers;
  readonly trustedRoot: string;
}

/** The caller has checked that the project exists. */
export async function listAttestations(
  { uid, fileName, pageSize, pageToken }: ListPythonAttestationsRequest,
  call: Call,
  { pageTokens, parsers, trustedRoot }: AttestationCollaborators,
): Promise<ListPythonAttestationsResponse> {
  const { db, now } = call;
  const { limit } = parsePageRequest({ pageSize, skip: 0 });
  const binding = bindingOf(call, uid, fileName);
  const after = pageToken === "" ? "" : (pageTokens.open(pageToken, binding, now)?.key ?? "");
  const files = await findAttestedFiles(db, { artifactUid: uid, fileName, after, limit: limit + 1 });
  const identities = await findSignatureIdentities(db, parentOf(uid));
  const names = new Map(identities.map((identity) => [identity.uid, identity.name]));
  const attestations: PythonAttestation[] = [];
  let last = "";
  for (const file of files.slice(0, limit)) {
    if (attestations.length >= MAX_ATTESTATIONS_PER_PAGE) break;
    assertConnected(call);
    const stored = await readProvenance(db, uid, file);
    const input = { provenance: stored?.body ?? NO_ATTESTATIONS, identities, trustedRoot };
    const checked = await parsers.run(attestationParser, input, uid);
    attestations.push(...checked.map((each) => attestationOf(file, each, names)));
    last = file;
  }
  const isEnd = last === (files.at(-1) ?? "");
  const nextPageToken = isEnd ? "" : pageTokens.seal({ key: last, uid: "", skipped: 0 }, binding, now);
  return create(ListPythonAttestationsResponseSchema, { attestations, nextPageToken });
}

/** For a file that was deleted meanwhile. */
const NO_ATTESTATIONS = '{"attestation_bundles":[]}';

const STATES = { verified: SignatureState.VERIFIED, unverified: SignatureState.UNVERIFIED, invalid: SignatureState.INVALID } as const;

function attestationOf(
  fileName: string,
  { publisher, predicateType, verdict }: CheckedAttestation,
  names: ReadonlyMap<string, string>,
): PythonAttestation {
  const { state, signer } = verdict;
  const signatureIdentity = verdict.state === "verified" ? verdict.identity : "";
  return create(PythonAttestationSchema, {
    fileName,
    publisher,
    predicateType,
    state: STATES[state],
    reason: verdict.state === "verified" ? "" : verdict.reason,
    signatureIdentity,
    signatureIdentityName: names.get(signatureIdentity) ?? "",
    certificateIssuer: signer?.issuer ?? "",
    certificateSubject: signer?.subject ?? "",
  });
}
