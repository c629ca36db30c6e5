/** Calls version 1 of the API for the samples of resources. */
import { type DescMethodUnary, type DescService, fromJson, type JsonObject, type Message } from "@bufbuild/protobuf";
import { textOf } from "./json.ts";
import { methodOf, type ResourceSample, type Verb } from "./samples.ts";

/** A resource as version 1 names it. */
export interface VersionOneSample {
  readonly service: DescService;
  /** Converts the body of a Create or Update of version 2. */
  body(v2: JsonObject): JsonObject;
  /** Fields of the body of version 2 that version 1 does not have. */
  readonly missing?: readonly string[];
  /** Names of the fields that its events contain; undefined means all. */
  readonly eventFields?: readonly string[];
}

export interface SampleInVersionOne extends ResourceSample {
  readonly v1: VersionOneSample;
}

export function isInVersionOne(sample: ResourceSample): sample is SampleInVersionOne {
  return sample.v1 !== undefined;
}

/** The method `<verb>` or `<verb><Kind>`; undefined if version 1 has none. */
export function methodInV1(sample: SampleInVersionOne, verb: Verb): DescMethodUnary | undefined {
  const names = [verb, verb === "List" ? methodOf(sample, verb).name : verb + sample.kind];
  return sample.v1.service.methods.find(({ name }) => names.includes(name)) as DescMethodUnary | undefined;
}

/** A request to create the resource, as JSON. @param body of version 2 */
export function createInV1(sample: SampleInVersionOne, parent: string, body: JsonObject): JsonObject {
  const { input, output } = methodInV1(sample, "Create") as DescMethodUnary;
  const given = sample.v1.body(body);
  const resource = input.fields.find(({ message }) => message === output);
  const place = input.fields.find(({ name }) => ["parent", "parent_id", "repo_id", "group"].includes(name))?.jsonName ?? "";
  return resource === undefined ? { ...given, [place]: parent } : { [place]: parent, [resource.jsonName]: given };
}

/** A request to replace the resource. @param body of version 2 */
export function updateInV1(sample: SampleInVersionOne, uid: string, body: JsonObject): JsonObject {
  return { ...sample.v1.body(body), ...deleteInV1(sample, uid) };
}

/** A request to delete the resource. */
export function deleteInV1(sample: SampleInVersionOne, uid: string): JsonObject {
  return { [sample.hasUidOfGroup ? "group" : "id"]: uid };
}

/** The uid of the resource in an answer. */
export function uidInV1({ hasUidOfGroup }: SampleInVersionOne, answer: JsonObject): string {
  return textOf(answer[hasUidOfGroup ? "group" : "id"]);
}

export function requestInV1({ input }: DescMethodUnary, json: JsonObject): Message {
  return fromJson(input, json);
}
