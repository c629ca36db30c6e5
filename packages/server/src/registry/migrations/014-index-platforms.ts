/**
 * Adds the images of each index, and an index by digest of the tag history. Reports use both after the manifests are
 * deleted.
 */
import type { Migration } from "../../db/migrate.ts";

export const indexPlatforms: Migration = {
  version: 14,
  name: "index-platforms",
  statements: ({ types: { text } }) => [
    `create table index_platform (digest ${text} not null, manifest_digest ${text} not null, primary key (digest, manifest_digest))`,
    "create index index_platform_by_manifest on index_platform (manifest_digest)",
    "insert into index_platform (digest, manifest_digest) select distinct digest, manifest_digest from image where digest <> manifest_digest",
    "create index tag_history_by_digest on tag_history (digest)",
  ],
};
