/** Creates the tables of imports over the API and of mirrors of feeds. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const remoteImports: Migration = {
  version: 12,
  name: "remote-imports",
  statements: (dialect) => [...mirrors(dialect), ...imports(dialect)],
};

function mirrors({ types: { text, integer } }: Dialect): string[] {
  return [
    `create table advisory_mirror (
      uid ${text} not null primary key, parent ${text} not null references "group" (uid), name ${text} not null, create_time ${text} not null,
      update_time ${text} not null, body ${text} not null)`,
    "create index advisory_mirror_by_parent_uid on advisory_mirror (parent, uid)",
    "create index advisory_mirror_by_name_uid on advisory_mirror (name, uid)",
    "create index advisory_mirror_by_create_time_uid on advisory_mirror (create_time, uid)",
    "create index advisory_mirror_by_update_time_uid on advisory_mirror (update_time, uid)",
    `create table advisory_mirror_run (
      mirror_uid ${text} not null primary key references advisory_mirror (uid) on delete cascade, session ${text} not null, next_time ${text},
      failures ${integer} not null, etag ${text} not null, last_modified ${text} not null, digest ${text} not null, import_uid ${text},
      file ${text}, lease_time ${text})`,
    "create index advisory_mirror_run_due on advisory_mirror_run (next_time) where next_time is not null",
    "create index advisory_mirror_run_by_file on advisory_mirror_run (file) where file is not null",
  ];
}

function imports({ types: { text, integer, bigint } }: Dialect): string[] {
  return [
    `create table advisory_import (
      uid ${text} not null primary key, parent ${text} not null references "group" (uid) on delete cascade, org_uid ${text} not null,
      mirror_uid ${text} references advisory_mirror (uid) on delete cascade, creator ${text}, kind ${text} not null,
      file_name ${text} not null,       file ${text} not null unique, state ${text} not null, received_bytes ${bigint} not null, create_time ${text} not null,
      write_time ${text} not null, start_time ${text}, end_time ${text}, session ${text}, approves ${integer} not null,
      may_delete ${integer} not null, attempts ${integer} not null, due_time ${text}, lease_holder ${text}, lease_time ${text}, read_count ${bigint} not null,
      created_count ${bigint} not null, updated_count ${bigint} not null, unchanged_count ${bigint} not null,
      problem_count ${bigint} not null, error ${text} not null, etag ${text} not null, last_modified ${text} not null, digest ${text} not null)`,
    "create index advisory_import_by_parent on advisory_import (parent, create_time, uid)",
    "create index advisory_import_by_mirror on advisory_import (mirror_uid) where mirror_uid is not null",
    "create index advisory_import_due on advisory_import (org_uid, start_time) where state in ('waiting', 'running')",
    "create index advisory_import_unfinished on advisory_import (org_uid) where end_time is null",
    "create index advisory_import_uploading on advisory_import (write_time) where state = 'uploading'",
    "create index advisory_import_finished on advisory_import (end_time) where end_time is not null",
    // The acknowledged parts of a file.
    `create table advisory_import_part (
      import_uid ${text} not null references advisory_import (uid) on delete cascade, part_offset ${bigint} not null, size ${integer} not null,
      sha256 ${text} not null, primary key (import_uid, part_offset))`,
    `create table advisory_import_problem (
      import_uid ${text} not null references advisory_import (uid) on delete cascade, number ${integer} not null, file ${text} not null,
      position ${text} not null, reason ${text} not null, primary key (import_uid, number))`,
  ];
}
