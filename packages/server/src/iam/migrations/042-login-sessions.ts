/** Creates the table of the sessions in which people are signed in. */
import type { Dialect } from "../../db/dialect.ts";
import type { Migration } from "../../db/migrate.ts";

export const loginSessions: Migration = {
  version: 42,
  name: "login-sessions",
  statements: ({ types: { text } }: Dialect) => [
    `create table login_session (
      uid ${text} not null primary key, identity_uid ${text} not null, family ${text} not null, kind ${text} not null, client ${text} not null,
      issuer ${text} not null, provider ${text} not null, within ${text} not null, methods ${text} not null, create_time ${text} not null,
      last_use_time ${text} not null, expire_time ${text} not null, remote_address ${text} not null, user_agent ${text} not null)`,
    "create index login_session_by_identity_uid on login_session (identity_uid, uid)",
    "create index login_session_by_family on login_session (family)",
  ],
};
