/**
 * Describes how users and groups are stored: their tables, and the attributes that have columns for filters and
 * sorting.
 */
import { type RawBuilder, sql } from "kysely";
import { groupType, type ResourceType, userType } from "./schema.ts";

export interface ResourceStorage {
  readonly type: ResourceType;
  readonly table: "scim_user" | "scim_group";
  /** Columns by the lower-case name of their attribute. */
  readonly columns: ReadonlyMap<string, Column>;
  /** SQL condition that excludes deleted rows, which are kept but hidden from the directory. */
  readonly isVisible: RawBuilder<boolean>;
  /** The attribute for group membership, which is stored in rows of its own. */
  readonly link: { readonly attribute: "groups" | "members"; readonly own: "user_id" | "group_id"; readonly other: "user_id" | "group_id" };
}

export interface Column {
  readonly name: string;
  /** `folded`: in lower case. */
  readonly holds: "text" | "folded" | "boolean" | "time";
  readonly isNullable: boolean;
}

const COMMON_COLUMNS: readonly (readonly [string, Column])[] = [
  ["id", { name: "id", holds: "text", isNullable: false }],
  ["externalid", { name: "external_id", holds: "text", isNullable: true }],
  ["meta.created", { name: "create_time", holds: "time", isNullable: false }],
  ["meta.lastmodified", { name: "update_time", holds: "time", isNullable: false }],
];

export const users: ResourceStorage = {
  type: userType,
  table: "scim_user",
  columns: new Map([
    ...COMMON_COLUMNS,
    ["username", { name: "user_name", holds: "folded", isNullable: false }],
    ["active", { name: "active", holds: "boolean", isNullable: false }],
  ]),
  isVisible: sql<boolean>`delete_time is null`,
  link: { attribute: "groups", own: "user_id", other: "group_id" },
};

export const groups: ResourceStorage = {
  type: groupType,
  table: "scim_group",
  columns: new Map([...COMMON_COLUMNS, ["displayname", { name: "display_name", holds: "folded", isNullable: false }]]),
  isVisible: sql<boolean>`1 = 1`,
  link: { attribute: "members", own: "group_id", other: "user_id" },
};
