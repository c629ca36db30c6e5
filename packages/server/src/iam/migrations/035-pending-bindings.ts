/** Indexes the bindings of people by organization, so that the oldest of each organization are found. */
import type { Migration } from "../../db/migrate.ts";

export const pendingBindings: Migration = {
  version: 35,
  name: "pending-bindings",
  statements: () => [
    `create index role_binding_of_root_identity_by_organization on role_binding (identity_uid, substr(parent, 1, 40), create_time, uid)
      where length(identity_uid) = 40`,
    "drop index role_binding_of_root_identity_by_time",
  ],
};
