/** Creates the table of the settings with which organizations choose how their people sign in. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const signInSettings: Migration = {
  version: 44,
  name: "sign-in-settings",
  statements: ({ types: { text, integer } }: Dialect) => [
    `create table sign_in_settings (
      org_uid ${text} not null primary key references "group" (uid), forbids_local_accounts ${integer} not null,
      requires_second_factor ${integer} not null, requires_own_provider ${integer} not null, display_name ${text} not null,
      logo_type ${text} not null, logo ${text} not null)`,
  ],
};
