/** Adds the version of the source package to the packages that are compared with advisories. */
import type { Migration } from "../../db/migrate.ts";

export const originVersions: Migration = {
  version: 45,
  name: "origin-versions",
  statements: ({ types: { text } }) => [`alter table matched_package add column origin_version ${text} not null default ''`],
};
