/** Settings of Python projects (PEP 708, PEP 792), attestations of their files (PEP 740), and the metadata of source distributions. */
import type { Migration } from "../../db/migrate.ts";

export const pythonProjects: Migration = {
  version: 27,
  name: "python-projects",
  statements: ({ types: { text, integer } }) => [
    // 1 is STATUS_ACTIVE.
    `alter table library_artifact add column status ${integer} not null default 1`,
    `alter table library_artifact add column status_reason ${text} not null default ''`,
    `alter table library_artifact add column tracks ${text} not null default '[]'`,
    `alter table library_artifact add column alternate_locations ${text} not null default '[]'`,
    "create index library_artifact_by_key_uid on library_artifact (key, uid)",
    `alter table library_file add column core_metadata ${text}`,
    `create table library_provenance (
      artifact_uid ${text} not null, path ${text} not null, digest ${text} not null, body ${text} not null,
      primary key (artifact_uid, path), foreign key (artifact_uid, path) references library_file (artifact_uid, path) on delete cascade)`,
  ],
};
