/**
 * Describes a resource to the engine as data. Behaviour of a single resource is code of its service, which calls the engine's functions.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { ResourceTableName } from "../../db/schema.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";

/** Values of a row's columns, apart from uid, parent, name, times and body. */
type Columns = Readonly<Record<string, string | number | null>>;

/** Rules of a resource that need no more than the message itself. Both members are pure. */
export interface ResourceRules<Desc extends DescMessage> {
  /**
   * @param current the stored resource that an update starts from; absent for a new one
   * @throws INVALID_ARGUMENT
   */
  check?(next: MessageShape<Desc>, now: Date, current?: MessageShape<Desc>): void;
  /** The error for a message that a unique index refuses. By default it says that the group has one of this name. */
  nameTaken?(message: MessageShape<Desc>): Error;
}

export interface ResourceSpec<Desc extends DescMessage> extends ResourceRules<Desc> {
  readonly table: ResourceTableName;
  /** An index over the body: these columns serve filters, orders and joins, and never an answer. */
  columns?(resource: MessageShape<Desc>): Columns;
  /** Equality filters of List: local name of the request's field → column. The field's default value means no filter. */
  readonly filters: Readonly<Record<string, string>>;
  /** Columns that `order_by` may name. */
  readonly orderBy: readonly string[];
  /** In the syntax of `order_by`; the default is the uid. */
  readonly defaultOrder?: string;
  /** A group has at most one of this resource, under the group's own uid. In the tree it counts as the group's child. */
  readonly hasUidOfGroup?: boolean;
  /** Deleting sets the column `delete_time`; lists and counts leave deleted rows out. */
  readonly hasDeleteTime?: boolean;
}

export interface Resource<Desc extends DescMessage = DescMessage> extends ResourceRules<Desc> {
  readonly schema: Desc;
  /** Name of the message, which errors use: `Group`. */
  readonly kind: string;
  readonly table: ResourceTableName;
  readonly filters: Readonly<Record<string, string>>;
  readonly orderBy: readonly string[];
  readonly defaultOrder: string;
  readonly hasUidOfGroup: boolean;
  readonly hasDeleteTime: boolean;
  columns(resource: MessageShape<Desc>): Columns;
  /** The resource as canonical proto-JSON text, as it is stored and sent. */
  encode(resource: MessageShape<Desc>): string;
}

export function defineResource<Desc extends DescMessage>(schema: Desc, spec: ResourceSpec<Desc>): Resource<Desc> {
  return {
    ...spec,
    schema,
    kind: schema.name,
    defaultOrder: spec.defaultOrder ?? "uid",
    hasUidOfGroup: spec.hasUidOfGroup ?? false,
    hasDeleteTime: spec.hasDeleteTime ?? false,
    columns: (resource) => spec.columns?.(resource) ?? {},
    encode: compileJsonEncoder(schema),
  };
}

/** The uid whose ancestors are the groups that count the resource. */
export function countedUid({ hasUidOfGroup }: Resource, uid: string): string {
  return hasUidOfGroup ? `${uid}/` : uid;
}
