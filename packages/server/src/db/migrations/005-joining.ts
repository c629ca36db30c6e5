/** How people come to a group: invites, requests for access; and what is agreed there: account associations, terms. */
import type { Migration } from "../migrate.ts";

export const joining: Migration = {
  name: "joining",
  statements: () => [],
};
