/**
 * Lets uploads begin before their repo exists, and creates the recordings of pulls that organizations choose, and the
 * queue of manifests whose facts indexes wait for. That queue was a JSON value. Where anything waited, all contents of indexes in that repo are queued: it is not known which
 * levels have the facts.
 */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const pushes: Migration = {
  version: 31,
  name: "pushes",
  statements: (dialect) => [...uploads(dialect), ...queue(dialect), pullRecording(dialect)],
};

function pullRecording({ types: { text } }: Dialect): string {
  return `create table pull_recording (org_uid ${text} not null primary key, recording ${text} not null)`;
}

/** SQLite cannot drop a constraint of a column. */
function uploads({ types: { text } }: Dialect): string[] {
  const columns = "uid, repo_uid, identity_uid, create_time, update_time";
  return [
    `create table new_upload (
      uid ${text} not null primary key, repo_uid ${text} references repo (uid) on delete cascade, repository ${text} not null default '',
      identity_uid ${text} not null, create_time ${text} not null, update_time ${text} not null)`,
    `insert into new_upload (${columns}) select ${columns} from upload`,
    "drop table upload",
    "alter table new_upload rename to upload",
    "create index upload_by_repo_uid on upload (repo_uid)",
    "create index upload_by_update_time on upload (update_time)",
  ];
}

function queue(dialect: Dialect): string[] {
  return [
    table(dialect),
    "create unique index image_facts_wait_once on image_facts_wait (repo_uid, digest)",
    `insert into image_facts_wait (image, repo_uid, digest, after, request_time)
      select distinct m.repo_uid || '@' || m.digest, m.repo_uid, m.digest, '', ''
      from manifest as m join manifest_reference as r on r.repo_uid = m.repo_uid and r.digest = m.digest and r.kind = 'manifest'
      where m.repo_uid in (select w.value ->> 'repoUid' from ${waiting(dialect)})`,
    "delete from server_state where name = 'image_facts'",
  ];
}

function table({ types: { text } }: Dialect): string {
  return `create table image_facts_wait (
    image ${text} not null primary key, repo_uid ${text} not null, digest ${text} not null, after ${text} not null,
    request_time ${text} not null, lease_holder ${text}, lease_time ${text},
    foreign key (repo_uid, digest) references manifest (repo_uid, digest) on delete cascade)`;
}

function waiting({ name }: Dialect): string {
  return name === "sqlite"
    ? "server_state as s, json_each(s.value, '$.waiting') as w where s.name = 'image_facts'"
    : "server_state as s, json_array_elements(s.value::json -> 'waiting') as w where s.name = 'image_facts'";
}
