/** Lets several local accounts sign in with the same address: a refusal would tell who has an account. */
import type { Migration } from "../../db/migrate.ts";

export const sharedAddresses: Migration = {
  version: 51,
  name: "shared-addresses",
  statements: () => [
    "drop index local_account_by_email_key",
    "create index local_account_by_email_key on local_account (email_key, create_time)",
  ],
};
