/**
 * Moves the events of advisories into their bodies. Events of the type that only version 1 has go to a column of their
 * own.
 */
import type { Migration } from "../../db/migrate.ts";

/** EVENT_TYPE_FILTER_COMPONENT_LOCATION_CHANGED. */
const LOCATION_CHANGED = 9;

export const advisoryBodies: Migration = {
  version: 16,
  name: "advisory-bodies",
  statements: ({ types: { text } }) => [
    `alter table advisory add column other_events ${text} not null default ''`,
    `update advisory set other_events = (select '[' || string_agg(e.body, ',' order by e.create_time, e.uid) || ']' from advisory_event e
      where e.advisory_uid = advisory.uid and e.type = ${LOCATION_CHANGED})
      where uid in (select advisory_uid from advisory_event where type = ${LOCATION_CHANGED})`,
    "drop table advisory_event",
  ],
};
