/** The lease on the scan of an image names its holder, as leases on other tables do. Before, its end alone told one lease from the next. */
import type { Migration } from "../../db/migrate.ts";

export const scanLeases: Migration = {
  version: 22,
  name: "scan-leases",
  statements: ({ types: { text } }) => [`alter table image_scan add column lease_holder ${text}`],
};
