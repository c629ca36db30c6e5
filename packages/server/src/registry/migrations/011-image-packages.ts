/** Creates the tables of the packages of images, which are read in the background. */
import type { Migration } from "../../db/migrate.ts";

export const imagePackages: Migration = {
  version: 11,
  name: "image-packages",
  statements: ({ types: { text, integer } }) => [
    `create table image_scan (
      digest ${text} not null primary key, state ${text} not null, attempts ${integer} not null, due_time ${text}, lease_time ${text},
      read_time ${text}, distribution ${text} not null, error ${text} not null, package_count ${integer} not null)`,
    "create index image_scan_by_due_time on image_scan (due_time) where due_time is not null",
    `create table image_package (
      digest ${text} not null references image_scan (digest) on delete cascade, type ${text} not null, name ${text} not null,
      version ${text} not null, architecture ${text} not null, origin ${text} not null, location ${text} not null, source ${text} not null,
      purl ${text} not null, primary key (digest, name, type, version, architecture, location))`,
    "create index image_package_by_name on image_package (name, type)",
    // Finds the repos that have a manifest.
    "create index manifest_by_digest on manifest (digest)",
    // For each organization, the origin of each package according to its images.
    `create table package_origin (
      org_uid ${text} not null, type ${text} not null, name ${text} not null, origin ${text} not null, primary key (org_uid, type, name))`,
    "create index package_origin_by_origin on package_origin (org_uid, origin)",
  ],
};
