/** Creates the tables of the vulnerabilities that are open in images, and requests to find those of the present images. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const findings: Migration = {
  version: 34,
  name: "findings",
  statements: (dialect) => [...requests(dialect), ...packages(dialect), ...found(dialect), ...presentImages()],
};

function requests({ types: { text, keyTable, hotTable } }: Dialect): string[] {
  return [
    `create table advisory_affected (
      advisory_uid ${text} not null primary key references advisory (uid) on delete cascade, modified_time ${text} not null,
      entries ${text} not null)`,
    `create table match_request (
      org_uid ${text} not null, kind ${text} not null, name ${text} not null, token ${text} not null,
      primary key (org_uid, kind, name)) ${keyTable}`,
    `create table match_turn (
      org_uid ${text} not null primary key, turn_time ${text} not null, lease_holder ${text}, lease_time ${text}) ${hotTable}`,
  ];
}

function packages({ types: { text, integer, bigint, sequence, keyTable } }: Dialect): string[] {
  return [
    `create table matched_image (
      id ${sequence}, org_uid ${text} not null, digest ${text} not null references image_scan (digest) on delete cascade,
      match_time ${text} not null)`,
    "create unique index matched_image_once on matched_image (digest, org_uid)",
    "create index matched_image_by_organization on matched_image (org_uid, id)",
    `create table matched_package (
      id ${sequence}, org_uid ${text} not null, type ${text} not null, name ${text} not null, version ${text} not null,
      origin ${text} not null, distribution ${text} not null, match_name ${text} not null, match_origin ${text} not null,
      is_matched ${integer} not null)`,
    "create unique index matched_package_once on matched_package (org_uid, name, version, type, origin, distribution)",
    "create index matched_package_by_name on matched_package (match_name, org_uid)",
    "create index matched_package_by_origin on matched_package (match_origin, org_uid)",
    `create table matched_image_package (
      image_id ${bigint} not null references matched_image (id) on delete cascade,
      package_id ${bigint} not null references matched_package (id) on delete cascade, primary key (image_id, package_id)) ${keyTable}`,
    "create index matched_image_package_by_package on matched_image_package (package_id, image_id)",
  ];
}

function found({ types: { text, integer, bigint, keyTable } }: Dialect): string[] {
  return [
    `create table finding (
      package_id ${bigint} not null references matched_package (id) on delete cascade, vulnerability ${text} not null,
      open_time ${text} not null, close_time ${text}, severity ${integer} not null, is_suppressed ${integer} not null,
      detail ${text} not null, primary key (package_id, vulnerability, open_time))`,
    "create index finding_by_vulnerability on finding (vulnerability, package_id) where close_time is null",
    "create index finding_by_close_time on finding (close_time) where close_time is not null",
    `create table critical_notice (
      image_id ${bigint} not null references matched_image (id) on delete cascade, repo_uid ${text} not null, vulnerability ${text} not null,
      primary key (image_id, repo_uid, vulnerability)) ${keyTable}`,
  ];
}

function presentImages(): string[] {
  return [
    `insert into match_request (org_uid, kind, name, token) select distinct substr(m.repo_uid, 1, 40), 'image', s.digest, ''
      from image_scan as s join manifest as m on m.digest = s.digest where s.state <> 'pending'`,
  ];
}
