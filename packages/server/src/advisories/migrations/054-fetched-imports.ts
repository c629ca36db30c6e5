/** Adds imports whose file the server fetches from an address. A fetch has a lease of its own, which ends before the import runs. */
import type { Migration } from "../../db/migrate.ts";

export const fetchedImports: Migration = {
  version: 54,
  name: "fetched-imports",
  statements: ({ types: { text, integer } }) => [
    `alter table advisory_import add column url ${text}`,
    `create table advisory_import_fetch (
      import_uid ${text} not null primary key references advisory_import (uid) on delete cascade, create_time ${text} not null,
      attempts ${integer} not null, lease_holder ${text}, lease_time ${text})`,
  ],
};
