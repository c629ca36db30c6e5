/** Creates the counts of names by their substrings, so that the total of a search needs no scan. */
import type { Migration } from "../../db/migrate.ts";

/**
 * Selects group_uid, gram, ecosystem, remediated, slot, below and direct. The empty string counts all names. The uid of an organization has
 * 40 characters, and each segment below it 17 more.
 */
export const NAME_COUNTS = `with recursive above (length) as (
    select 40 union all select length + 17 from above where length < (select max(length(uid)) from library_artifact))
  select substr(g.artifact_uid, 1, above.length) as group_uid, g.gram as gram, g.ecosystem as ecosystem, a.remediated as remediated, 0 as slot,
    count(*) as below, sum(case when length(g.artifact_uid) = above.length + 17 then 1 else 0 end) as direct
  from (select gram, ecosystem, artifact_uid from library_artifact_gram union all select '', ecosystem, uid from library_artifact) as g
  join library_artifact as a on a.uid = g.artifact_uid
  join above on above.length < length(g.artifact_uid)
  group by substr(g.artifact_uid, 1, above.length), g.gram, g.ecosystem, a.remediated`;

export const libraryNameCounts: Migration = {
  version: 58,
  name: "library-name-counts",
  statements: ({ types: { text, integer, hotTable } }) => [
    `create table library_name_count (
      group_uid ${text} not null, gram ${text} not null, ecosystem ${integer} not null, remediated ${integer} not null, slot ${integer} not null,
      below ${integer} not null, direct ${integer} not null,
      primary key (group_uid, gram, ecosystem, remediated, slot)) ${hotTable}`,
    `insert into library_name_count (group_uid, gram, ecosystem, remediated, slot, below, direct)
      ${NAME_COUNTS}`,
  ],
};
