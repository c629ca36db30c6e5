/** Creates the table of the limits that the operator sets for organizations. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const organizationLimits: Migration = {
  version: 48,
  name: "organization-limits",
  statements: ({ types: { text, bigint, keyTable } }: Dialect) => [
    `create table organization_limit (
      org_uid ${text} not null references "group" (uid), name ${text} not null, value ${bigint} not null,
      primary key (org_uid, name)) ${keyTable}`,
  ],
};
