/** Signature identities: who a group trusts to sign with short-lived certificates. */
import { SignatureIdentitiesService } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import { assertBelowGroupLimit } from "../../api/resource/group-limit.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate, prepareUpdate, save } from "../../api/resource/write.ts";
import { signatureIdentities } from "../signers/signature-identity.ts";

/** Each certificate is compared with each identity. */
const LIMIT = { count: 20, reason: "TOO_MANY_SIGNATURE_IDENTITIES", what: "signature identities" } as const;

export function signatureIdentitiesService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(SignatureIdentitiesService, {
    ...standardMethods(SignatureIdentitiesService, signatureIdentities, { pageTokens }),

    createSignatureIdentity: write(async ({ parent, signatureIdentity: given }, call) => {
      const identity = prepareCreate(signatureIdentities, given, call.now);
      await assertBelowGroupLimit("signature_identity", parent, LIMIT, call.db);
      return create(signatureIdentities, parent, identity, call);
    }),

    updateSignatureIdentity: write(async ({ signatureIdentity, updateMask }, call) =>
      save(signatureIdentities, await prepareUpdate(signatureIdentities, signatureIdentity, updateMask, call), call),
    ),
  });
}
