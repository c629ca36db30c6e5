/** Creates the tables of what pushed documents state: builds that provenance describes, and images that charts use. */
import type { Migration } from "../../db/migrate.ts";

export const imageDocuments: Migration = {
  version: 32,
  name: "image-documents",
  statements: ({ types: { text, integer } }) => [
    `create table build_report (
      uid ${text} not null primary key, parent ${text} not null, org_uid ${text} not null, manifest_digest ${text} not null,
      start_time ${text} not null, body ${text} not null, ${ofManifest("parent")})`,
    "create index build_report_by_start_time on build_report (org_uid, start_time, uid)",
    "create index build_report_by_manifest on build_report (parent, manifest_digest)",
    `create table chart_image (
      repo_uid ${text} not null, manifest_digest ${text} not null, org_uid ${text} not null, repository ${text} not null,
      requirement ${integer} not null, primary key (repo_uid, manifest_digest, repository), ${ofManifest("repo_uid")})`,
    "create index chart_image_by_repository on chart_image (org_uid, repository)",
  ],
};

function ofManifest(repo: string): string {
  return `foreign key (${repo}, manifest_digest) references manifest (repo_uid, digest) on delete cascade`;
}
