/** Columns with the kind and the status of a group, which folders inherit from their organization. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

/** The database derives the columns from the body, so servers of an older version fill them too. */
export const groupKind: Migration = {
  version: 23,
  name: "group-kind",
  statements: (dialect) => [column(dialect, "kind"), column(dialect, "status")],
};

/** PostgreSQL parses no JSON with an escaped NUL or half a surrogate pair. Other escapes take their place before it reads the member. */
function column({ name, types: { text } }: Dialect, member: string): string {
  const parsable = String.raw`replace(replace(body, '\u0000', '\u0020'), '\ud', '\u0')`;
  const [value, storage] =
    name === "sqlite" ? [`json_extract(body, '$.${member}')`, "virtual"] : [`(${parsable})::jsonb ->> '${member}'`, "stored"];
  return `alter table "group" add column ${member} ${text} generated always as (${value}) ${storage}`;
}
