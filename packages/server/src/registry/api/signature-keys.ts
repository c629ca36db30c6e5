/** Signature keys: public keys that a group trusts to sign images. */
import { SignatureKeysService } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import { assertBelowGroupLimit } from "../../api/resource/group-limit.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate, prepareUpdate, save } from "../../api/resource/write.ts";
import { signatureKeys } from "../signatures/signature-key.ts";

/** Each signature is compared with each key. */
const LIMIT = { count: 20, reason: "TOO_MANY_SIGNATURE_KEYS", what: "signature keys" } as const;

export function signatureKeysService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(SignatureKeysService, {
    ...standardMethods(SignatureKeysService, signatureKeys, { pageTokens }),

    createSignatureKey: write(async ({ parent, signatureKey: given }, call) => {
      const key = prepareCreate(signatureKeys, given, call.now);
      await assertBelowGroupLimit("signature_key", parent, LIMIT, call.db);
      return create(signatureKeys, parent, key, call);
    }),

    updateSignatureKey: write(async ({ signatureKey, updateMask }, call) =>
      save(signatureKeys, await prepareUpdate(signatureKeys, signatureKey, updateMask, call), call),
    ),
  });
}
