/** Marks the files that make an artifact a Maven plugin. Clients find plugins by the prefixes in the metadata of a group. */
import type { Migration } from "../../db/migrate.ts";

/** The number of ECOSYSTEM_JAVA. */
const JAVA = 1;

export const mavenPlugins: Migration = {
  version: 17,
  name: "maven-plugins",
  statements: ({ types: { integer } }) => [
    `alter table library_file add column plugin ${integer} not null default 0`,
    `update library_file set plugin = 1 where metadata = '{"packaging":"maven-plugin"}'
      and artifact_uid in (select uid from library_artifact where ecosystem = ${JAVA})`,
    "create index library_file_of_plugin on library_file (artifact_uid, path) where plugin = 1",
  ],
};
