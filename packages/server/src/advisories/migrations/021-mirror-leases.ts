/** The lease on a mirror names its holder, as leases on other tables do. Before, the staged file of the fetch named it. */
import type { Migration } from "../../db/migrate.ts";

export const mirrorLeases: Migration = {
  version: 21,
  name: "mirror-leases",
  statements: ({ types: { text } }) => [`alter table advisory_mirror_run add column lease_holder ${text}`],
};
