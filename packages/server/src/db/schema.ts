/**
 * Declares the types of the platform's tables. Each domain adds its tables to `Schema` in its tables.ts; migrations
 * create them. Columns have the names of the proto fields. Times are UTC strings with three fraction digits.
 */
import type { Generated } from "kysely";

export interface Schema {
  resource_count: ResourceCountTable;
  server_state: ServerStateTable;
  organization_limit: OrganizationLimitTable;
  access_change: AccessChangeTable;
}

/**
 * Columns of every resource table. `body` is the resource as canonical proto-JSON; the other columns serve queries and
 * constraints.
 */
export interface ResourceTable {
  uid: string;
  /** Uid of the parent; null for a root uid. */
  parent: string | null;
  name: string;
  create_time: string;
  update_time: string;
  body: string;
}

/**
 * Number of rows of a kind below a group. A count is the sum of several slots, so that writers need not wait for each
 * other.
 */
export interface ResourceCountTable {
  group_uid: string;
  /** A CountKind: the name of the counted table, or of a subset of its rows. */
  kind: string;
  slot: number;
  /** Rows anywhere below the group. */
  below: number;
  /** Rows whose parent is the group itself. */
  direct: number;
}

/** Small values of the installation, by name, such as names of secrets and of the bootstrap resources. */
export interface ServerStateTable {
  name: string;
  value: string;
  /** The server that works on what the row is about until `lease_time`; null for none. */
  lease_holder: string | null;
  lease_time: string | null;
}

/** A limit that the operator has set for an organization. A limit without a row does not exist. */
export interface OrganizationLimitTable {
  org_uid: string;
  /** A LimitName of db/organization-limits.ts. */
  name: string;
  value: number;
}

/** PostgreSQL only: identities whose rights a transaction changed, for the caches of other servers. `*` means all. */
export interface AccessChangeTable {
  seq: Generated<number>;
  identity_uid: string;
  create_time: Generated<string>;
}

/** Tables that the resource engine reads and writes. */
export type ResourceTableName = keyof { [Name in keyof Schema as Schema[Name] extends ResourceTable ? Name : never]: true };

/** Names of counts of a subset of a table, or of rows outside of the tree. Domains add theirs in tables.ts. */
// biome-ignore lint/suspicious/noEmptyInterface: the domains extend it
export interface PartialCounts {}
