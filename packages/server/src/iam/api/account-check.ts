/** Checks whether a group's association with a cloud provider works. A broken setup is an answer, not an error. */
import { create } from "@bufbuild/protobuf";
import {
  type AccountAssociation,
  AccountAssociationSchema,
  type AccountAssociationsService,
  AccountProviderType,
  CheckAccountAssociationResponseSchema,
  CheckStatus,
} from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { read } from "../../api/call/implement.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";

const PROVIDERS: Readonly<Record<number, { readonly name: string; readonly field: "google" | "amazon" | "azure" }>> = {
  [AccountProviderType.GOOGLE]: { name: "Google Cloud", field: "google" },
  [AccountProviderType.AMAZON]: { name: "AWS", field: "amazon" },
  [AccountProviderType.AZURE]: { name: "Azure", field: "azure" },
};

export const checkAccountAssociation = read<typeof AccountAssociationsService.method.checkAccountAssociation>(
  async ({ uid, providerType }, { db }) => {
    const provider = PROVIDERS[providerType];
    if (provider === undefined) throw invalidArgument("provider_type", "provider_type must be GOOGLE, AMAZON or AZURE");
    const row = await db
      .selectFrom("group")
      .leftJoin("account_association", "account_association.uid", "group.uid")
      .select("account_association.body as body")
      .where("group.uid", "=", uid)
      .executeTakeFirst();
    if (row === undefined) throw notFound("Group", uid);
    const association: Partial<AccountAssociation> = row.body === null ? {} : messageFromJson(AccountAssociationSchema, row.body);
    const { name, field } = provider;
    const answer =
      association[field] === undefined
        ? { reason: "not configured", message: `this group is not associated with an account at ${name}` }
        : { reason: "error exchanging credentials", message: `this server exchanges no credentials with ${name}` };
    return create(CheckAccountAssociationResponseSchema, { status: CheckStatus.NOT_READY, ...answer });
  },
);
