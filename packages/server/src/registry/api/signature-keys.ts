/** Signature keys: public keys that a group trusts to sign images. */
import { SignatureKeysService } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate, prepareUpdate, save } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition } from "../../lib/errors.ts";
import { signatureKeys } from "../signatures/signature-key.ts";

const MAX_KEYS_OF_GROUP = 20;

export function signatureKeysService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(SignatureKeysService, {
    ...standardMethods(SignatureKeysService, signatureKeys, { pageTokens }),

    createSignatureKey: write(async ({ parent, signatureKey: given }, call) => {
      const key = prepareCreate(signatureKeys, given, call.now);
      await assertBelowLimit(parent, call.db);
      return create(signatureKeys, parent, key, call);
    }),

    updateSignatureKey: write(async ({ signatureKey, updateMask }, call) =>
      save(signatureKeys, await prepareUpdate(signatureKeys, signatureKey, updateMask, call), call),
    ),
  });
}

/** Each signature is compared with each key. @throws FAILED_PRECONDITION */
async function assertBelowLimit(group: string, db: WriteDb): Promise<void> {
  // Keys of a group are created one after another, so that the count holds.
  await db.dialect.forUpdate(db.selectFrom("group").select("uid").where("uid", "=", group)).execute();
  const keys = await db.selectFrom("signature_key").select("uid").where("parent", "=", group).limit(MAX_KEYS_OF_GROUP).execute();
  if (keys.length < MAX_KEYS_OF_GROUP) return;
  throw failedPrecondition("TOO_MANY_SIGNATURE_KEYS", `a group has at most ${MAX_KEYS_OF_GROUP} signature keys: delete one`);
}
