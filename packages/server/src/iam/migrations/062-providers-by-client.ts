/** Extends the index of identity providers by the client, so that the ones of a token are found among many with its issuer. */
import type { Migration } from "../../db/migrate.ts";

export const providersByClient: Migration = {
  version: 62,
  name: "providers-by-client",
  statements: () => [
    "drop index identity_provider_by_issuer",
    "create index identity_provider_by_issuer on identity_provider (issuer, client_id, uid)",
  ],
};
