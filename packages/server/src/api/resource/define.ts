/** What the engine must know of a resource, as data. Behaviour that only one resource has is written in its service with the engine's functions. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { ResourceTableName } from "../../db/schema.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";

export interface ResourceSpec<Desc extends DescMessage> {
  readonly table: ResourceTableName;
  /** Columns beside uid, parent, name, times and body: an index over the body, never read back. */
  columns?(resource: MessageShape<Desc>): Readonly<Record<string, string | number | null>>;
  /** Equality filters of List: local name of the request's field → column. The field's default value means no filter. */
  readonly filters: Readonly<Record<string, string>>;
  /** Columns that `order_by` may name. */
  readonly orderBy: readonly string[];
  /** As `order_by` would say it; by uid where it is left out. */
  readonly defaultOrder?: string;
  /** Its uid is that of the group it is in, of which there is one at most. In the tree it counts as the group's child. */
  readonly hasUidOfGroup?: boolean;
  /** Its column `delete_time` is set where it is deleted: lists and counts leave it out. */
  readonly hasDeleteTime?: boolean;
}

export interface Resource<Desc extends DescMessage = DescMessage> {
  readonly schema: Desc;
  /** Name of the message, which errors use: `Group`. */
  readonly kind: string;
  readonly table: ResourceTableName;
  readonly filters: Readonly<Record<string, string>>;
  readonly orderBy: readonly string[];
  readonly defaultOrder: string;
  readonly hasUidOfGroup: boolean;
  readonly hasDeleteTime: boolean;
  columns(resource: MessageShape<Desc>): Readonly<Record<string, string | number | null>>;
  /** The resource as canonical proto-JSON text, as it is stored and sent. */
  encode(resource: MessageShape<Desc>): string;
}

export function defineResource<Desc extends DescMessage>(schema: Desc, spec: ResourceSpec<Desc>): Resource<Desc> {
  return {
    schema,
    kind: schema.name,
    table: spec.table,
    filters: spec.filters,
    orderBy: spec.orderBy,
    defaultOrder: spec.defaultOrder ?? "uid",
    hasUidOfGroup: spec.hasUidOfGroup ?? false,
    hasDeleteTime: spec.hasDeleteTime ?? false,
    columns: (resource) => spec.columns?.(resource) ?? {},
    encode: compileJsonEncoder(schema),
  };
}

/** Where a resource is in the tree, as a uid whose ancestors are the groups that count it. */
export function placeOf({ hasUidOfGroup }: Resource, uid: string): string {
  return hasUidOfGroup ? `${uid}/` : uid;
}
