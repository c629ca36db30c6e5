/** Users and groups as a company's directory provisions them over SCIM. */
import type { Migration } from "../migrate.ts";

export const scim: Migration = {
  name: "scim",
  statements: () => [],
};
