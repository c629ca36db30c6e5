/** Creates the tables of advisories, their events, and public vulnerability records. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const advisories: Migration = {
  version: 10,
  name: "advisories",
  statements: (dialect) => [...advisory(dialect), ...events(dialect), ...search(dialect), ...vulnerabilities(dialect)],
};

function advisory({ types: { text, integer, hotTable } }: Dialect): string[] {
  return [
    `create table advisory (
      uid ${text} not null primary key, parent ${text} not null references "group" (uid), name ${text} not null, create_time ${text} not null,
      update_time ${text} not null, delete_time ${text}, about ${text} not null, advisory_id ${text} not null, legacy_advisory_id ${text},
      artifact_name ${text} not null, artifact_type ${text} not null, artifact_architecture ${text} not null, component_name ${text} not null,
      component_type ${text} not null, component_location ${text} not null, first_alias ${text} not null, latest_type ${integer} not null,
      event_types ${integer} not null, review_states ${integer} not null, authors ${text} not null, reviewers ${text} not null,
      resolutions ${text} not null, body ${text} not null)`,
    "create unique index advisory_once on advisory (parent, about)",
    // Lists contain live advisories only. Partial indexes let counts avoid the table.
    ...[
      "advisory_by_create_time on advisory (create_time, uid)",
      "advisory_by_update_time on advisory (update_time, uid)",
      "advisory_by_first_alias on advisory (first_alias, uid)",
      "advisory_by_advisory_id on advisory (advisory_id, uid)",
      "advisory_by_legacy_advisory_id on advisory (legacy_advisory_id, uid)",
      "advisory_by_artifact_name on advisory (artifact_name, uid)",
      "advisory_by_component_name on advisory (component_name, uid)",
      "advisory_by_component_location on advisory (component_location, uid)",
      "advisory_by_kind on advisory (artifact_type, artifact_architecture, component_type, latest_type, event_types, review_states, uid)",
      "advisory_by_authors on advisory (authors, uid)",
      "advisory_by_reviewers on advisory (reviewers, uid)",
      // Rows are long, so this index contains what filters test.
      `advisory_facts on advisory (uid, artifact_type, artifact_architecture, component_type, latest_type, event_types, review_states, authors,
        reviewers, artifact_name, component_name)`,
    ].map((index) => `create index ${index} where delete_time is null`),
    // Contains everything that a report of resolved vulnerabilities reads about a package's advisories.
    "create index advisory_by_resolutions on advisory (artifact_name, artifact_type, uid, resolutions) where delete_time is null and resolutions <> ''",
    "create index advisory_by_delete_time on advisory (delete_time, uid) where delete_time is not null",
    // Counts of each combination of kinds, so that a list's total needs no scan.
    `create table advisory_count (
      group_uid ${text} not null, artifact_type ${text} not null, artifact_architecture ${text} not null, component_type ${text} not null,
      latest_type ${integer} not null, event_types ${integer} not null, review_states ${integer} not null, slot ${integer} not null,
      below ${integer} not null, direct ${integer} not null,
      primary key (group_uid, artifact_type, artifact_architecture, component_type, latest_type, event_types, review_states, slot)) ${hotTable}`,
    // Counts by the authors or reviewers of the events.
    `create table advisory_people_count (
      group_uid ${text} not null, facet ${text} not null, people ${text} not null, slot ${integer} not null, below ${integer} not null,
      direct ${integer} not null, primary key (group_uid, facet, people, slot)) ${hotTable}`,
  ];
}

function events({ types: { text, integer, keyTable } }: Dialect): string[] {
  return [
    `create table advisory_event (
      uid ${text} not null primary key, advisory_uid ${text} not null references advisory (uid) on delete cascade, create_time ${text} not null,
      type ${integer} not null, review_state ${integer} not null, author ${text} not null, reviewer ${text} not null, body ${text} not null)`,
    "create index advisory_event_by_time on advisory_event (advisory_uid, create_time, uid)",
    `create table advisory_alias (
      alias ${text} not null, advisory_uid ${text} not null references advisory (uid) on delete cascade,
      primary key (alias, advisory_uid)) ${keyTable}`,
    "create index advisory_alias_by_advisory on advisory_alias (advisory_uid, alias)",
  ];
}

/** A substring search finds the suffixes that begin with it, then their terms, then the advisories of these. */
function search({ types: { text, keyTable } }: Dialect): string[] {
  return [
    `create table advisory_term (
      term ${text} not null, advisory_uid ${text} not null references advisory (uid) on delete cascade,
      primary key (term, advisory_uid)) ${keyTable}`,
    "create index advisory_term_by_advisory on advisory_term (advisory_uid, term)",
    `create table advisory_suffix (suffix ${text} not null, term ${text} not null, primary key (suffix, term)) ${keyTable}`,
  ];
}

function vulnerabilities({ types: { text } }: Dialect): string[] {
  return [
    `create table vulnerability (
      id ${text} not null primary key, update_time ${text} not null, modified_time ${text} not null, severities ${text} not null, body ${text} not null)`,
    "create index vulnerability_by_update_time on vulnerability (update_time, id)",
  ];
}
