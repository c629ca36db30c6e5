/**
 * Account associations: the accounts of a group at cloud providers and code hosts. A group has at most one association, with the group's
 * uid.
 */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { AccountAssociationSchema, AccountAssociationsService } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { type Handlers, implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { assertGroupExists, create, prepareCreate, prepareUpdate, removeIfThere, save } from "../../api/resource/write.ts";
import { alreadyExists } from "../../lib/errors.ts";
import { checkAccountAssociation } from "./account-check.ts";
import { assertAccounts, assertServiceBindings } from "./account-rules.ts";

export const accountAssociations = defineResource(AccountAssociationSchema, {
  table: "account_association",
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
  hasUidOfGroup: true,
  check: assertAccounts,
  nameTaken: ({ uid }) => alreadyExists("AccountAssociation", uid, "this group has an account association"),
});

export function accountAssociationsService(collaborators: { readonly pageTokens: PageTokens }) {
  const handlers: Handlers<typeof AccountAssociationsService> = {
    ...standardMethods(AccountAssociationsService, accountAssociations, collaborators),

    createAccountAssociation: write(async ({ parent, accountAssociation }, call) => {
      const association = prepareCreate(accountAssociations, accountAssociation, call.now);
      await assertGroupExists(parent, call.db);
      await assertServiceBindings(association, undefined, parent, call.db);
      return create(accountAssociations, parent, association, call);
    }),

    updateAccountAssociation: write(async ({ accountAssociation, updateMask }, call) => {
      const update = await prepareUpdate(accountAssociations, accountAssociation, updateMask, call);
      await assertServiceBindings(update.next, update.current, update.next.uid, call.db);
      return save(accountAssociations, update, call);
    }),

    // Deleting a missing association succeeds: the group has none, as the caller wants.
    deleteAccountAssociation: write(async ({ uid }, call) => {
      call.changed = await removeIfThere(accountAssociations, uid, call.db);
      return createMessage(EmptySchema);
    }),

    checkAccountAssociation,
  };
  return implement(AccountAssociationsService, handlers, "AccountAssociation");
}
