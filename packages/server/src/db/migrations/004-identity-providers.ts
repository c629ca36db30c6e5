/** Identity providers, what maps their groups to roles, and the tokens that their directories provision with. */
import type { Migration } from "../migrate.ts";

export const identityProviders: Migration = {
  name: "identity-providers",
  statements: () => [],
};
