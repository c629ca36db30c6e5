/**
 * Indexes identities by the issuer and subject whose tokens they accept, so that a token's identities are found without
 * a scan.
 */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

/** The columns are generated from the body, so older servers fill them, too. */
export const tokenMatching: Migration = {
  version: 8,
  name: "token-matching",
  statements: (dialect) => [
    column(dialect, "token_issuer", "issuer"),
    column(dialect, "token_subject", "subject"),
    "create index identity_by_token on identity (token_issuer, token_subject, uid)",
    "create index identity_by_token_issuer on identity (token_issuer, uid)",
    "create index identity_by_no_issuer on identity (uid) where relationship_type in (1, 2) and token_issuer is null",
  ],
};

/**
 * Limited to 128 characters: longer values do not fit into a PostgreSQL index. Bodies with a zero character or a lone
 * surrogate yield null, since PostgreSQL text cannot contain either.
 */
function column({ name, types: { text } }: Dialect, column: string, member: string): string {
  const [read, kind] =
    name === "sqlite"
      ? [(path: string) => `json_extract(body, '$.${path}.${member}')`, "virtual"]
      : [(path: string) => `body::jsonb #>> '{${path},${member}}'`, "stored"];
  const value = `substr(coalesce(${read("claimMatch")}, ${read("staticKeys")}), 1, 128)`;
  const guarded = `case when replace(replace(body, '\\u0000', ''), '\\ud', '') <> body then null else ${value} end`;
  return `alter table identity add column ${column} ${text} generated always as (${guarded}) ${kind}`;
}
