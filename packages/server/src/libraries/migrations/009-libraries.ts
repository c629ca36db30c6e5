/** Libraries: packages of other ecosystems, their versions and files. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const libraries: Migration = {
  version: 9,
  name: "libraries",
  statements: (dialect) => [...artifacts(dialect), ...versions(dialect), ...files(dialect)],
};

function artifacts({ types: { text, integer } }: Dialect): string[] {
  return [
    `create table library_artifact (
      uid ${text} not null primary key, parent ${text} not null references "group" (uid), name ${text} not null, create_time ${text} not null,
      update_time ${text} not null, ecosystem ${integer} not null, key ${text} not null, latest_sort_key ${text} not null, remediated ${integer} not null,
      serial ${integer} not null, body ${text} not null)`,
    "create unique index library_artifact_once on library_artifact (parent, ecosystem, key)",
    "create index library_artifact_by_ecosystem_name on library_artifact (ecosystem, name, uid)",
    "create index library_artifact_by_name_uid on library_artifact (name, uid)",
    "create index library_artifact_by_create_time_uid on library_artifact (create_time, uid)",
    "create index library_artifact_by_update_time_uid on library_artifact (update_time, uid)",
    "create index library_artifact_remediated on library_artifact (ecosystem, name, uid) where remediated = 1",
    // Every substring of three characters of a lower-case name, with the name: a search reads few names and no other table.
    `create table library_artifact_gram (
      gram ${text} not null, name ${text} not null, artifact_uid ${text} not null references library_artifact (uid) on delete cascade,
      primary key (gram, name, artifact_uid))`,
    "create index library_artifact_gram_by_artifact on library_artifact_gram (artifact_uid)",
  ];
}

function versions({ types: { text, integer, bigint } }: Dialect): string[] {
  return [
    `create table library_version (
      uid ${text} not null primary key, artifact_uid ${text} not null references library_artifact (uid) on delete cascade, version ${text} not null,
      sort_key ${text} not null, create_time ${text} not null, update_time ${text} not null, description ${text} not null, size_bytes ${bigint} not null,
      cuda_version ${text}, remediated ${integer} not null, yank_time ${text}, yank_reason ${text} not null)`,
    "create unique index library_version_once on library_version (artifact_uid, version)",
    "create index library_version_by_order on library_version (artifact_uid, sort_key, uid)",
    "create index library_version_by_create_time on library_version (artifact_uid, create_time, uid)",
    "create index library_version_by_update_time on library_version (artifact_uid, update_time, uid)",
    "create index library_version_by_cuda_version on library_version (cuda_version, artifact_uid) where cuda_version is not null",
  ];
}

function files({ types: { text, bigint } }: Dialect): string[] {
  return [
    `create table library_file (
      artifact_uid ${text} not null references library_artifact (uid) on delete cascade,
      version_uid ${text} not null references library_version (uid) on delete cascade, path ${text} not null,
      digest ${text} not null references blob (digest), size ${bigint} not null, sha1 ${text} not null, md5 ${text} not null, sha512 ${text} not null,
      metadata ${text} not null, create_time ${text} not null, actor ${text} not null, primary key (artifact_uid, path))`,
    "create index library_file_by_version on library_file (version_uid, path)",
    "create index library_file_by_digest on library_file (digest)",
  ];
}
