/** Creates the tables of repos, tags, blobs, manifests and uploads. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const registry: Migration = {
  version: 2,
  name: "registry",
  statements: (dialect) => [...resources(dialect), ...blobs(dialect), ...manifests(dialect), ...history(dialect)],
};

function resources({ types: { text, integer } }: Dialect): string[] {
  const common = (parent: string) =>
    `uid ${text} not null primary key, parent ${text} not null references "${parent}" (uid), name ${text} not null, create_time ${text} not null, update_time ${text} not null`;
  return [
    // Names of repositories are resolved from folder to folder.
    index("group", "parent", "name"),
    `create table repo (${common("group")}, source ${text}, body ${text} not null)`,
    unique("repo", "parent", "name"),
    index("repo", "name", "uid"),
    index("repo", "create_time", "uid"),
    index("repo", "update_time", "uid"),
    index("repo", "parent", "uid"),
    "create index repo_by_source on repo (source) where source is not null",
    `create table repo_readme (uid ${text} not null primary key references repo (uid) on delete cascade, content ${text} not null)`,
    // A tag may point to a digest that was never pushed, so this is not a foreign key to manifests.
    `create table tag (${common("repo")}, digest ${text} not null, class ${integer} not null, body ${text} not null)`,
    unique("tag", "parent", "name"),
    index("tag", "parent", "class", "name"),
    index("tag", "parent", "digest"),
    index("tag", "parent", "update_time"),
    index("tag", "name", "uid"),
    index("tag", "update_time", "uid"),
  ];
}

function blobs({ types: { text, bigint } }: Dialect): string[] {
  return [
    `create table blob (digest ${text} not null primary key, size ${bigint} not null, create_time ${text} not null, removal_time ${text})`,
    "create index blob_in_removal on blob (removal_time) where removal_time is not null",
    `create table repo_blob (
      repo_uid ${text} not null references repo (uid) on delete cascade, digest ${text} not null references blob (digest), touch_time ${text} not null,
      primary key (repo_uid, digest))`,
    index("repo_blob", "digest"),
    `create table upload (
      uid ${text} not null primary key, repo_uid ${text} not null references repo (uid) on delete cascade, identity_uid ${text} not null,
      create_time ${text} not null, update_time ${text} not null)`,
    index("upload", "repo_uid"),
    index("upload", "update_time"),
  ];
}

function manifests({ types: { text, bigint, bytes } }: Dialect): string[] {
  const ofManifest = (digest: string) => `foreign key (repo_uid, ${digest}) references manifest (repo_uid, digest) on delete cascade`;
  return [
    // The content is the last column, so that SQLite reads the others without its overflow pages.
    `create table manifest (
      repo_uid ${text} not null references repo (uid) on delete cascade, digest ${text} not null, media_type ${text} not null, artifact_type ${text},
      subject ${text}, size ${bigint} not null, create_time ${text} not null, touch_time ${text} not null, annotations ${text}, content ${bytes} not null,
      primary key (repo_uid, digest))`,
    "create index manifest_by_subject on manifest (repo_uid, subject) where subject is not null",
    `create table manifest_reference (
      repo_uid ${text} not null, manifest_digest ${text} not null, digest ${text} not null, kind ${text} not null,
      primary key (repo_uid, manifest_digest, digest), ${ofManifest("manifest_digest")})`,
    index("manifest_reference", "repo_uid", "digest"),
    `create table image (
      repo_uid ${text} not null, digest ${text} not null, architecture ${text} not null, os ${text} not null, variant ${text} not null,
      manifest_digest ${text} not null, config_digest ${text} not null, size ${bigint} not null,
      primary key (repo_uid, digest, architecture, os, variant), ${ofManifest("digest")})`,
  ];
}

/** No foreign keys: the history outlives tags and, until a deletion requests otherwise, repos. */
function history({ types: { text, sequence } }: Dialect): string[] {
  return [
    `create table tag_history (
      seq ${sequence}, repo_uid ${text} not null, tag ${text} not null, digest ${text} not null, time ${text} not null, actor ${text} not null)`,
    index("tag_history", "repo_uid", "tag", "seq"),
  ];
}

function index(table: string, ...columns: string[]): string {
  return `create index ${table}_by_${columns.join("_")} on "${table}" (${columns.join(", ")})`;
}

function unique(table: string, ...columns: string[]): string {
  return `create unique index ${table}_once on "${table}" (${columns.join(", ")})`;
}
