/** Indexes for large libraries: lists of one ecosystem by time, and searches within one ecosystem, also for one or two characters. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const librarySearch: Migration = {
  version: 15,
  name: "library-search",
  statements: (dialect) => [
    "create index library_artifact_by_ecosystem_create_time on library_artifact (ecosystem, create_time, uid)",
    "create index library_artifact_by_ecosystem_update_time on library_artifact (ecosystem, update_time, uid)",
    ...grams(dialect),
  ],
};

function grams({ types: { text, integer, keyTable } }: Dialect): string[] {
  return [
    "drop table library_artifact_gram",
    // Every substring of one, two or three characters of a lower-case name, with the name: a search reads few names and no other
    // table. Rows are deleted by name: an index and a foreign key for that would be larger than all the rest.
    `create table library_artifact_gram (
      gram ${text} not null, ecosystem ${integer} not null, artifact_uid ${text} not null, name ${text} not null,
      primary key (gram, ecosystem, artifact_uid, name)) ${keyTable}`,
    `insert into library_artifact_gram (gram, ecosystem, name, artifact_uid)
      with recursive place (start) as (select 1 union all select start + 1 from place where start < 200),
        size (length) as (select 1 union all select 2 union all select 3)
      select distinct substr(lower(a.name), place.start, size.length), a.ecosystem, lower(a.name), a.uid from library_artifact a
        join place on place.start <= length(a.name) join size on place.start + size.length - 1 <= length(a.name)
        where place.start + size.length - 1 <= 200`,
  ];
}
