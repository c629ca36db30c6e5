/** Creates the table of the organizations that people joined or left. People who are bound already have joined. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const memberships: Migration = {
  version: 25,
  name: "memberships",
  statements: (dialect) => [
    ...membership(dialect),
    backfill,
    // Finds the oldest bindings of a person in organizations that the person has not joined.
    "create index role_binding_of_root_identity_by_time on role_binding (identity_uid, create_time, uid) where length(identity_uid) = 40",
  ],
};

function membership({ types: { text } }: Dialect): string[] {
  return [
    `create table membership (
      identity_uid ${text} not null, org_uid ${text} not null references "group" (uid), state ${text} not null, email ${text} not null default '',
      create_time ${text} not null, update_time ${text} not null, primary key (identity_uid, org_uid))`,
    "create index membership_by_org_uid_identity_uid on membership (org_uid, identity_uid)",
  ];
}

const backfill = `insert into membership (identity_uid, org_uid, state, create_time, update_time)
   select identity_uid, substr(parent, 1, 40), 'joined', min(create_time), min(create_time) from role_binding
   where length(identity_uid) = 40 and parent is not null and identity_uid in (select uid from identity)
   group by identity_uid, substr(parent, 1, 40)`;
