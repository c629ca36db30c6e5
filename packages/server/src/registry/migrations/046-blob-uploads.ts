/** Creates the tables of uploads to a bucket, whose parts several servers may send. */
import type { Migration } from "../../db/migrate.ts";

export const blobUploads: Migration = {
  version: 46,
  name: "blob-uploads",
  statements: ({ types: { text, integer, bigint } }) => [
    `create table blob_upload (
      upload ${text} not null primary key, size ${bigint} not null, multipart ${text}, tail ${text}, tail_size ${integer} not null,
      sha256 ${text}, object_etag ${text}, is_committed ${integer} not null, holder ${text}, holder_until ${text}, update_time ${text} not null)`,
    "create index blob_upload_by_update_time on blob_upload (update_time)",
    `create table blob_upload_part (
      upload ${text} not null references blob_upload (upload) on delete cascade, part ${integer} not null, etag ${text} not null,
      checksum ${text} not null, primary key (upload, part))`,
  ],
};
