/** Samples of resources and operations: the data that lets one conformance suite test all of them. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type DescField, type DescMessage, type DescMethodUnary, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { fieldBehavior, iam } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { Resource } from "../../src/api/resource/define.ts";
import type { Code } from "../../src/lib/errors.ts";
import { parentOf } from "../../src/lib/uid.ts";
import type { HttpAnswer } from "./clients.ts";
import { parse, textOf } from "./json.ts";
import type { VersionOneSample } from "./samples-v1.ts";
import type { World } from "./world.ts";

/** What a resource is created in. */
export interface ParentSample {
  /** Kind of the parent, as errors name it. */
  readonly kind: string;
  /** REST path of the collection that holds the parents. */
  readonly collection: string;
  /** True if only an organization can be, or have, such a parent. */
  readonly onlyInOrganizations: boolean;
  /** Creates a parent in the group and returns its uid; a group is its own parent. */
  create(world: World, group: string, name: string, token?: string): Promise<string>;
  /** Uid of the group whose role bindings apply in the parent. */
  groupOf(parent: string): string;
}

/** A caller of a list. */
export interface Viewer {
  readonly uid: string;
  /** Uids of the groups where the caller may list everything. */
  readonly scopes: readonly string[];
}

/** One form of one resource: how to create it, how to change it, and where it differs from other resources. */
export interface ResourceSample {
  /** With its article: `a group`. */
  readonly title: string;
  /** Name of its message: `RoleBinding`. */
  readonly kind: string;
  readonly schema: DescMessage;
  readonly table: Resource["table"];
  readonly service: DescService;
  /** Undefined if version 1 of the API does not have the resource. */
  readonly v1: VersionOneSample | undefined;
  readonly parent: ParentSample;
  /** First part of the names of its capabilities: `role_bindings` in `role_bindings.list`. */
  readonly capabilityNoun: string;
  /** Order of a list without `order_by`, as `order_by` spells it. */
  readonly defaultOrder: string;
  /** True if its uid is that of its group, which has at most one. */
  readonly hasUidOfGroup: boolean;
  /** True if several in one parent may have the same name. */
  readonly sharesNames: boolean;
  /** True if it can neither be updated nor be created again under its name. */
  readonly isImmutable: boolean;
  /** True if Delete succeeds although there is nothing to delete. */
  readonly deletesMissing: boolean;
  /** True if Create also takes a name in place of the parent's uid. */
  readonly parentMayBeName: boolean;
  /** Fields, besides the uid, that differ between two of them whose bodies differ in the name alone. */
  readonly ownFields: readonly string[];
  /** Strings that only the answer to Create contains. */
  readonly shownOnce: readonly string[];
  /** Output-only messages that a new one lacks. */
  readonly absentAtFirst: readonly string[];
  /** Writable fields that an update of all fields leaves as they are. */
  readonly keptFields: readonly string[];
  /** Output-only fields that change with a writable one: names of writable fields to names of output-only fields. */
  readonly derivedFields: Readonly<Record<string, string>>;
  /** JSON members, at any depth, whose values in lists differ from those of Get. */
  readonly valuesInLists: Readonly<Record<string, string>>;
  /** Names of the fields that its events contain; undefined means all. */
  readonly eventFields: readonly string[] | undefined;
  /** The body of a Create over REST. Uses `name` as the resource's name, or in what distinguishes it. */
  body(world: World, parent: string, name: string): Promise<JsonObject>;
  /** Fields for an update, or for creating it again; each value differs from that of `body`. Empty if it is immutable. */
  change(world: World, parent: string): Promise<JsonObject>;
  /** An update that needs no right besides that to update, and leaves the name. */
  readonly smallChange: JsonObject;
  /** List parameters that match this resource and none with another name; empty if lists have no such filter. */
  uniqueFilter(created: JsonObject): JsonObject;
  /** Uid of the group whose subscribers receive the event of the verb. */
  eventGroup(uid: string, verb: EventVerb): string;
  /** Attributes of its events besides those of every event. */
  eventExtensions(uid: string): JsonObject;
  /** Capabilities that an update needs besides the resource's own. */
  neededToUpdate(world: World): Promise<readonly Capability[]>;
  /** Prepares an organization so that its owner can create and list this resource. */
  prepareOrganization(world: World, organization: string): Promise<void>;
  /** Which resources without a parent the viewer sees although no scope of the viewer contains them. */
  seenInRoot(world: World, viewer: Viewer): Promise<(uid: string) => boolean>;
}

/** An operation about which the suites need more than its annotations and the sample of its resource. */
export interface OperationSample {
  readonly method: DescMethodUnary;
  /** True if its handler checks the scope, because the capability or the group depends on the request. */
  readonly checksScopeItself?: boolean;
  /** The answer to the access suite's minimal request of a caller who may call; `0` is success. */
  readonly answer?: Code | 0;
  /** For an operation that emits an event and is not the Create, Update or Delete of a resource sample. */
  readonly event?: EventSample;
}

export interface EventSample {
  /** A call that succeeds. */
  succeeding(world: World): Promise<EventedCall>;
  /** A request that is refused even from the owner. */
  failing(world: World): Promise<JsonObject>;
}

/** A call that emits an event, and the parts of the event that do not follow from annotations. */
export interface EventedCall {
  readonly request: JsonObject;
  readonly subject: (answer: JsonObject) => string;
  /** Uid of the group whose subscribers receive the event. */
  readonly group: (answer: JsonObject) => string;
  /** Attributes besides those of every event; undefined means none. */
  readonly extensions?: (answer: JsonObject) => JsonObject;
  /** Replaces the owner's token. */
  readonly token?: string;
  /** Uid of the identity behind that token; undefined means the owner. */
  readonly actor?: string;
  /** True if the event names no actor. */
  readonly isAnonymous?: boolean;
}

type EventVerb = "Create" | "Update" | "Delete";
export type Verb = "Get" | "List" | EventVerb;

const COMMON = {
  v1: undefined,
  hasUidOfGroup: false,
  sharesNames: true,
  isImmutable: false,
  deletesMissing: false,
  parentMayBeName: false,
  ownFields: ["name"],
  shownOnce: [],
  absentAtFirst: [],
  keptFields: [],
  derivedFields: {},
  valuesInLists: {},
  eventFields: undefined,
  smallChange: { description: "later" },
  uniqueFilter: ({ name = "" }: JsonObject) => ({ name }),
  eventGroup: parentOf,
  eventExtensions: () => ({}),
  neededToUpdate: async () => [],
  prepareOrganization: async () => {},
  seenInRoot: async () => () => false,
} as const;

type Special = Omit<ResourceSample, "kind" | "schema" | "table" | "service" | "defaultOrder" | keyof typeof COMMON> &
  Partial<ResourceSample>;

/** Completes a sample with the facts of the resource's definition and with those that most resources share. */
export function defineSample(
  { kind, schema, table, hasUidOfGroup, defaultOrder }: Resource,
  service: DescService,
  special: Special,
): ResourceSample {
  return { ...COMMON, kind, schema, table, service, hasUidOfGroup, defaultOrder, ...special };
}

/** The method `<verb><Kind>` of the sample's service; for List, the method whose name begins so. */
export function methodOf(sample: ResourceSample, verb: Verb): DescMethodUnary {
  const found = findMethod(sample, verb);
  if (found === undefined) throw new Error(`${sample.service.typeName} has no method to ${verb} a ${sample.kind}`);
  return found;
}

export function hasMethod(sample: ResourceSample, verb: Verb): boolean {
  return findMethod(sample, verb) !== undefined;
}

function findMethod({ service, kind }: ResourceSample, verb: Verb): DescMethodUnary | undefined {
  const found = service.methods.find(({ name }) => (verb === "List" ? name.startsWith(verb) : name === verb + kind));
  return found?.methodKind === "unary" ? (found as DescMethodUnary) : undefined;
}

/** The capabilities that are needed to list all these resources. */
export function listingCapabilities(samples: readonly ResourceSample[]): Capability[] {
  return samples.flatMap((sample) => {
    const { mode } = getOption(methodOf(sample, "List"), iam);
    return mode.case === "enabled" ? mode.value.capabilities : [];
  });
}

/** The part of the contract that the resource belongs to: `iam`. */
export function domainOf({ service }: ResourceSample): string {
  return service.typeName.split(".").at(-3) ?? "";
}

/** REST path of the resource's collection: `/iam/v2/groups`. */
export function collectionOf(sample: ResourceSample): string {
  return `/${domainOf(sample)}/${sample.service.typeName.split(".").at(-2)}/${itemsOf(sample)}`;
}

/** Creates a parent for the sample: in the group if it can be there, otherwise in a new organization. @returns its uid */
export async function createParent(world: World, { parent }: ResourceSample, group: string, name = "place"): Promise<string> {
  return parent.create(world, parent.onlyInOrganizations ? await world.group("", name) : group, name);
}

/** A parent for one more resource: the given one, or a new group below it for a resource that has the uid of its group. */
export async function parentForOneMore(world: World, { hasUidOfGroup }: ResourceSample, parent: string): Promise<string> {
  return hasUidOfGroup ? world.group(parent) : parent;
}

/** The filter that matches all resources whose parents `parentForOneMore` returned. */
export function filterForAll({ hasUidOfGroup }: ResourceSample, parent: string): { descendantsOf: string } | { childrenOf: string } {
  return hasUidOfGroup ? { descendantsOf: parent } : { childrenOf: parent };
}

export function uidPatternIn({ hasUidOfGroup }: ResourceSample, parent: string): RegExp {
  return hasUidOfGroup ? new RegExp(`^${parent}$`) : new RegExp(`^${parent}/[0-9a-f]{16}$`);
}

/** Creates the resource as the owner, over REST. */
export async function createResource(world: World, sample: ResourceSample, parent: string, name: string): Promise<HttpAnswer> {
  const answer = await world.raw("POST", `${collectionOf(sample)}/${parent}`, await sample.body(world, parent, name));
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

/** Changes the resource over REST: updates it, or creates it again under its name, or reads it if it is immutable. */
export function changeResource(world: World, sample: ResourceSample, created: JsonObject, change: JsonObject): Promise<HttpAnswer> {
  const uid = textOf(created.uid);
  if (sample.isImmutable) return world.raw("GET", `${collectionOf(sample)}/${uid}`);
  if (hasMethod(sample, "Update")) return world.raw("PATCH", `${collectionOf(sample)}/${uid}`, change);
  return world.raw("POST", `${collectionOf(sample)}/${parentOf(uid)}`, { ...created, ...change });
}

/** Converts the answer to Create into that of Get. */
export function asRead({ shownOnce }: ResourceSample, text: string): string {
  return shownOnce.length === 0 ? text : JSON.stringify({ ...parse(text), ...Object.fromEntries(shownOnce.map((name) => [name, ""])) });
}

/** Converts the answer to Get into the form of lists. */
export function asListed({ valuesInLists }: ResourceSample, text: string): string {
  return Object.entries(valuesInLists).reduce(
    (json, [name, value]) => json.replace(new RegExp(`"${name}":"[^"]*"`), `"${name}":"${value}"`),
    text,
  );
}

export function hasField({ schema }: ResourceSample, jsonName: string): boolean {
  return schema.fields.some((field) => field.jsonName === jsonName);
}

/** Name of the field of a list that contains the resources: `roleBindings`. */
export function itemsOf(sample: ResourceSample): string {
  return methodOf(sample, "List").output.fields[0]?.jsonName ?? "";
}

/** Name of the field that contains the resource in Create and Update requests: `roleBinding`. */
export function fieldOf({ kind }: ResourceSample): string {
  return kind.charAt(0).toLowerCase() + kind.slice(1);
}

/** The fields that only the server sets. */
export function outputsOf({ schema }: Pick<ResourceSample, "schema">): readonly DescField[] {
  return schema.fields.filter(
    (field) => hasOption(field, fieldBehavior) && getOption(field, fieldBehavior).includes(FieldBehavior.OUTPUT_ONLY),
  );
}

/** A valid value for each output-only field that the server itself never sets. */
export function forgedOutputsOf(sample: ResourceSample): JsonObject {
  return Object.fromEntries(outputsOf(sample).map((field) => [field.jsonName, forgedValue(field)]));
}

function forgedValue(field: DescField): JsonValue {
  if (field.fieldKind === "map") return { clusters: 1 };
  if (field.fieldKind === "enum") return 3;
  if (field.fieldKind === "message") return field.message.typeName.endsWith("Timestamp") ? "2000-01-01T00:00:00Z" : { name: "forged" };
  return "forged";
}

/** A parent sample for resources whose parent is a group. */
export const inGroup: ParentSample = {
  kind: "Group",
  collection: "/iam/v2/groups",
  onlyInOrganizations: false,
  create: async (_world, group) => group,
  groupOf: (parent) => parent,
};
