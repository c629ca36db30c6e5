/**
 * The tables as TypeScript sees them. Each domain adds its own tables to `Schema` in its tables.ts; migrations make them.
 * Column names equal proto field names. Times are UTC strings with three fraction digits.
 */
import type { Generated } from "kysely";

export interface Schema {
  resource_count: ResourceCountTable;
  server_state: ServerStateTable;
  access_change: AccessChangeTable;
}

/** What every resource table has. `body` is the resource as canonical proto-JSON text and is the truth; the columns exist to filter, sort, join and be unique. */
export interface ResourceTable {
  uid: string;
  /** Uid of the parent; null where the uid is in root. */
  parent: string | null;
  name: string;
  create_time: string;
  update_time: string;
  body: string;
}

/** How many rows of a kind stand below a group. Several slots a group, so that writers need not wait for each other: the count is their sum. */
export interface ResourceCountTable {
  group_uid: string;
  /** A CountKind: the name of the resource's table, or of a part of it. */
  kind: string;
  slot: number;
  /** Rows anywhere below the group. */
  below: number;
  /** Rows whose parent is the group itself. */
  direct: number;
}

/** Small facts of the installation: names of secrets and of the bootstrap resources. */
export interface ServerStateTable {
  name: string;
  value: string;
  /** The server that works on what the row is about until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** PostgreSQL only: whose rights a transaction changed, for the other servers' caches. `identity_uid` `*` means everybody's. */
export interface AccessChangeTable {
  seq: Generated<number>;
  identity_uid: string;
  create_time: Generated<string>;
}

/** Tables of resources: the resource engine works on them. */
export type ResourceTableName = keyof { [Name in keyof Schema as Schema[Name] extends ResourceTable ? Name : never]: true };

/** Counts of a part of a table, or of rows outside of the tree, by name. Domains add theirs in tables.ts. */
// biome-ignore lint/suspicious/noEmptyInterface: the domains fill it
export interface PartialCounts {}
