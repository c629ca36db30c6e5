/** Account associations: which accounts at cloud providers and code hosts a group is tied to. A group has one at most, and it has the group's uid. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type AccountAssociation,
  AccountAssociationSchema,
  AccountAssociationsService,
} from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { writableFields } from "../../api/resource/field-mask.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { assertGroupExists, insert, isDuplicate, prepareUpdate, removeIfThere, save } from "../../api/resource/write.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { alreadyExists } from "../../lib/errors.ts";
import { checkAccountAssociation } from "./account-check.ts";
import { assertAccounts, assertServiceBindings } from "./account-rules.ts";

export const accountAssociations = defineResource(AccountAssociationSchema, {
  table: "account_association",
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
  hasUidOfGroup: true,
});

export function accountAssociationsService({ pageTokens }: ServiceDependencies) {
  return implement(AccountAssociationsService, {
    ...standardMethods(AccountAssociationsService, accountAssociations, pageTokens),

    createAccountAssociation: write(async ({ parent, accountAssociation }, call) => {
      const made = writableFields(AccountAssociationSchema, accountAssociation as AccountAssociation);
      assertAccounts(made);
      await assertGroupExists(parent, call.db);
      await assertServiceBindings(made, undefined, parent, call.db);
      return insert(accountAssociations, parent, made, call.now, call.db).catch((thrown) => {
        throw isDuplicate(thrown) ? alreadyExists("AccountAssociation", parent, "this group has an account association") : thrown;
      });
    }),

    updateAccountAssociation: write(async ({ accountAssociation, updateMask }, call) => {
      const update = await prepareUpdate(accountAssociations, accountAssociation as AccountAssociation, updateMask, call.db);
      assertAccounts(update.next);
      await assertServiceBindings(update.next, update.current, update.next.uid, call.db);
      return save(accountAssociations, update, call);
    }),

    // Deleting what is gone succeeds: a group without one is what was wanted.
    deleteAccountAssociation: write(async ({ uid }, call) => {
      call.changed = await removeIfThere(accountAssociations, uid, call.db);
      return createMessage(EmptySchema);
    }),

    checkAccountAssociation,
  });
}
