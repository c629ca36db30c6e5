/** Where users and groups are kept, and what of them the database itself can search and sort by. */
import { type RawBuilder, sql } from "kysely";
import { groupType, type ResourceType, userType } from "./schema.ts";

export interface Kind {
  readonly type: ResourceType;
  readonly table: "scim_user" | "scim_group";
  /** By the attribute's name in small letters. */
  readonly columns: ReadonlyMap<string, Column>;
  /** What the database does not forget, but the directory no longer sees. */
  readonly isVisible: RawBuilder<boolean>;
  /** The attribute that tells who is in which group; kept in rows of its own. */
  readonly link: { readonly attribute: "groups" | "members"; readonly own: "user_id" | "group_id"; readonly other: "user_id" | "group_id" };
}

export interface Column {
  readonly name: string;
  /** `folded`: in small letters. */
  readonly holds: "text" | "folded" | "boolean" | "time";
  readonly isNullable: boolean;
}

const common: readonly (readonly [string, Column])[] = [
  ["id", { name: "id", holds: "text", isNullable: false }],
  ["externalid", { name: "external_id", holds: "text", isNullable: true }],
  ["meta.created", { name: "create_time", holds: "time", isNullable: false }],
  ["meta.lastmodified", { name: "update_time", holds: "time", isNullable: false }],
];

export const users: Kind = {
  type: userType,
  table: "scim_user",
  columns: new Map([
    ...common,
    ["username", { name: "user_name", holds: "folded", isNullable: false }],
    ["active", { name: "active", holds: "boolean", isNullable: false }],
  ]),
  isVisible: sql<boolean>`delete_time is null`,
  link: { attribute: "groups", own: "user_id", other: "group_id" },
};

export const groups: Kind = {
  type: groupType,
  table: "scim_group",
  columns: new Map([...common, ["displayname", { name: "display_name", holds: "folded", isNullable: false }]]),
  isVisible: sql<boolean>`1 = 1`,
  link: { attribute: "members", own: "group_id", other: "user_id" },
};
