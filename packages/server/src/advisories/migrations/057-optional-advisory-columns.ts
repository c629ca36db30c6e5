/**
 * Leaves rows without a value out of the indexes of columns that few advisories have. Nobody searches for the lack of a
 * value, and each index entry delays imports.
 */
import type { Migration } from "../../db/migrate.ts";

const index = (column: string, isPresent: string) => [
  `drop index advisory_by_${column}`,
  `create index advisory_by_${column} on advisory (${column}, uid) where delete_time is null and ${column} ${isPresent}`,
];

export const optionalAdvisoryColumns: Migration = {
  version: 57,
  name: "optional-advisory-columns",
  statements: () => [
    ...["component_name", "component_location", "reviewers"].flatMap((column) => index(column, "<> ''")),
    ...index("legacy_advisory_id", "is not null"),
  ],
};
