/**
 * No operation shows or changes a resource of a group where the caller has no rights, whichever field of the request names it. The
 * resources exist, unlike those of access.test.ts, and the caller has all capabilities elsewhere.
 */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import {
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  fromJson,
  getOption,
  hasOption,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { iamScope, isInternalOnly } from "@holt/api";
import { Capability, CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { isAtOrBelow, rootOf } from "../../src/lib/uid.ts";
import { codeOf } from "../harness/clients.ts";
import { type ContractOperation, operations } from "../harness/contract.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { createParent, createResource, fieldOf, hasMethod, methodOf, type ResourceSample } from "../harness/samples.ts";
import type { Caller, World } from "../harness/world.ts";
import { requestAt } from "./minimal-request.ts";
import { describeWithSamples, resources } from "./samples.ts";

const ORDINARY = CapabilitySchema.values
  .map(({ number }) => number as Capability)
  .filter((capability) => capability !== Capability.UNKNOWN && capability !== Capability.CAP_INTERNAL && !isInternalOnly(capability));
const WRITES = ["Create", "Update"] as const;
/** The names of fields that refer to a resource. */
const REFERENCE = /(id|ids|uidp|parent|group|role|identity|source|repo|names|organization|scope|bindings)$/i;
/** The names of the foreign resources contain it, as far as their rules allow. */
const SECRET = "kept secret";
const SECRET_IN_ANSWER = /kept ?secret/;

/** A caller with all capabilities in a group, with one resource of each kind there. */
interface Stranger extends Caller {
  readonly place: string;
  readonly group: string;
  /** By kind, with the group. */
  readonly own: ReadonlyMap<string, string>;
}

describeWithSamples("resources of others", (world) => {
  /** Uids by kind. */
  let foreign: ReadonlyMap<string, string>;
  let strangers: readonly Stranger[];
  let bodies: ReadonlyMap<string, JsonObject>;
  before(async () => {
    const organization = await world.group("", "organization");
    for (const sample of resources) await sample.prepareOrganization(world, organization);
    foreign = await fill(world, await world.group(organization, SECRET), SECRET);
    const places = { "a sibling group": await world.group(organization), "another organization": world.orgUid };
    strangers = await Promise.all(
      Object.entries(places).map(async ([place, group]) => ({
        ...(await world.robot(group, ORDINARY)),
        ...{ place, group, own: await fill(world, group, "own") },
      })),
    );
    bodies = new Map(await Promise.all(resources.map(async (sample) => [sample.kind, await bodyOf(world, sample)] as const)));
  });

  test("operations about a resource that exists are refused to callers with rights elsewhere only", async () => {
    const scoped = operations.filter(({ isScoped, isServed, isPublic }) => isScoped && isServed && !isPublic);
    assert.ok(scoped.length > 100);
    const unchanged = await readRows(world, foreign);
    for (const { name, method, hasRest } of scoped) {
      const client = hasRest ? world.rest : world.grpc;
      const kind = kindOf(method);
      const uid = foreign.get(kind) ?? "";
      const request = { ...requestAt(method, uid) };
      setScope(method.input, request, uid);
      for (const { place, token } of strangers)
        assert.equal(codeOf(await client.call(method, request, token)), Code.PERMISSION_DENIED, `${name} on ${kind} from ${place}`);
    }
    assert.deepEqual(await readRows(world, foreign), unchanged);
  });

  test("no field of a request about an own resource shows or changes a resource of others", async () => {
    const unchanged = await readRows(world, foreign);
    let reached = 0;
    for (const operation of operations) {
      if (!operation.isServed || operation.isPublic || deletesOwn(operation)) continue;
      for (const [at, stranger] of strangers.entries()) {
        // The strangers share the requests of reads.
        const requests = requestsOf(operation, stranger, { foreign, bodies }).filter(
          (_, index) => isWrite(operation) || index % strangers.length === at,
        );
        for (const request of requests) if (await wasRead(world, operation, request, stranger)) reached++;
      }
      if (isWrite(operation)) assert.deepEqual(await readRows(world, foreign), unchanged, operation.name);
    }
    assert.ok(reached > 200, `only ${reached} requests were not refused before they were read`);
  });

  test("a viewer of a group changes nothing in it", async () => {
    const viewer = await world.robot(rootOf(foreign.get("Group") ?? ""));
    await world.bind(viewer.uid, await builtInRole(world, "viewer"), rootOf(viewer.uid));
    const unchanged = await readRows(world, foreign);
    let read = 0;
    for (const operation of operations) {
      const { name, method, hasRest } = operation;
      if (!operation.isServed || operation.isPublic) continue;
      const uid = foreign.get(kindOf(method)) ?? "";
      const json = withSampleBody(method, uid, bodies);
      const client = hasRest ? world.rest : world.grpc;
      const outcome = await client.call(method, isMessage(method.input, json) ? fromJson(method.input, json) : {}, viewer.token);
      if (outcome.ok) read++;
      if (isWrite(operation)) assert.deepEqual(await readRows(world, foreign), unchanged, name);
    }
    assert.ok(read > 50, `the viewer could call only ${read} operations`);
  });
});

/** A resource of each kind in folders of the group or, for those that only organizations have, in its organization. */
async function fill(world: World, group: string, name: string): Promise<Map<string, string>> {
  const made = new Map([["Group", group]]);
  for (const sample of resources.filter(({ kind }) => kind !== "Group")) {
    const place = sample.parent.onlyInOrganizations ? rootOf(group) : await world.group(group, name);
    const parent = await sample.parent.create(world, place, name);
    made.set(sample.kind, textOf(parse((await createResource(world, sample, parent, name)).text).uid));
  }
  return made;
}

async function bodyOf(world: World, sample: ResourceSample): Promise<JsonObject> {
  return sample.body(world, await createParent(world, sample, await world.group(world.orgUid)), "own");
}

/** The rows of the foreign resources, and all others in their group. */
async function readRows(world: World, foreign: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const group = foreign.get("Group") ?? "";
  const uids = new Set(foreign.values());
  const rows = await Promise.all(
    resources.map(async ({ table }) => {
      const found = await world.store.reader.selectFrom(table).select(["uid", "body"]).orderBy("uid").execute();
      return found.filter(({ uid }) => uids.has(uid) || isAtOrBelow(uid, group)).map(({ uid, body }) => `${table} ${uid} ${body}`);
    }),
  );
  return rows.flat();
}

/** Handlers of the others have no handle that writes. */
function isWrite({ method }: ContractOperation): boolean {
  return !/^(Get|List)/.test(method.name);
}

/** A Delete of an own resource would leave the next requests nothing to be about. */
function deletesOwn({ method, isScoped }: ContractOperation): boolean {
  return isScoped && /^(Delete|Adopt)/.test(method.name);
}

interface Ingredients {
  readonly foreign: ReadonlyMap<string, string>;
  readonly bodies: ReadonlyMap<string, JsonObject>;
}

/** Requests about own resources, each with the uid of a foreign one in one field. */
function requestsOf({ method }: ContractOperation, { group, own }: Stranger, { foreign, bodies }: Ingredients): JsonObject[] {
  const scope = scopePathOf(method.input);
  const uid = scope === undefined ? group : (own.get(kindOf(method)) ?? group);
  return stringFields(method.input)
    .filter((path) => REFERENCE.test(String(path.findLast((key) => typeof key === "string"))) && path.join() !== scope?.join())
    .flatMap((path) =>
      referred(path, foreign).map((other) => {
        const json = withSampleBody(method, uid, bodies);
        setAt(json, path, other);
        return json;
      }),
    )
    .filter((json) => isMessage(method.input, json));
}

/** The foreign resources of the kind that the field is named after, as in `roleUid`, or else all. */
function referred(path: Path, foreign: ReadonlyMap<string, string>): string[] {
  const name = path.join(".").toLowerCase();
  const named = [...foreign].filter(([kind]) => name.includes(kind.toLowerCase()));
  return (named.length === 0 ? [...foreign] : named).map(([, uid]) => uid);
}

/** False if the field belongs to a oneof that has another value already. */
function isMessage(schema: DescMessage, json: JsonObject): boolean {
  try {
    fromJson(schema, json);
    return true;
  } catch {
    return false;
  }
}

/** The minimal request about the uid, for a Create or Update with a valid resource. */
function withSampleBody(method: DescMethodUnary, uid: string, bodies: ReadonlyMap<string, JsonObject>): JsonObject {
  const request = { ...requestAt(method, uid) };
  setScope(method.input, request, uid);
  const json = toJson(method.input, request) as JsonObject;
  const sample = resources.find((each) => WRITES.some((verb) => hasMethod(each, verb) && methodOf(each, verb) === method));
  if (sample !== undefined) json[fieldOf(sample)] = { ...structuredClone(bodies.get(sample.kind)), ...uidIn(json[fieldOf(sample)]) };
  return json;
}

function uidIn(value: JsonValue | undefined): JsonObject {
  const { uid } = (value ?? {}) as JsonObject;
  return uid === undefined ? {} : { uid };
}

/** The kind of resource that a method is about: `Repo` for GetRepo, and `Group`, its parent, for CreateRepo. */
function kindOf({ parent: service, input }: DescMethodUnary): string {
  const sample = resources.find((each) => each.service.typeName === service.typeName || each.v1?.service.typeName === service.typeName);
  const isAboutParent = /^parent/.test(String(scopePathOf(input)?.at(-1)));
  return (isAboutParent ? sample?.parent.kind : sample?.kind) ?? "Group";
}

/** @returns whether the request was read: it was neither malformed nor refused for the lack of rights */
async function wasRead(world: World, { name, method, hasRest }: ContractOperation, json: JsonObject, stranger: Stranger) {
  const request = fromJson(method.input, json);
  const outcome = await (hasRest ? world.rest : world.grpc).call(method, request, stranger.token);
  const answer = outcome.ok ? JSON.stringify(toJson(method.output, outcome.value)) : JSON.stringify(outcome.error);
  const sent = JSON.stringify(json);
  const message = `${name} from ${stranger.place} with ${sent} answered ${answer.slice(0, 500)}`;
  assert.ok(SECRET_IN_ANSWER.test(sent) || !SECRET_IN_ANSWER.test(answer), message);
  return outcome.ok || ![Code.PERMISSION_DENIED, Code.INVALID_ARGUMENT].includes(outcome.error.code as never);
}

type Path = readonly (string | number)[];

/** Paths of the fields that may contain a uid, also in messages and lists of the request. */
function stringFields(schema: DescMessage, depth = 0): Path[] {
  if (depth > 2 || schema.typeName.startsWith("google.")) return [];
  return schema.fields.flatMap((field): Path[] => {
    const { jsonName: at, fieldKind } = field;
    const isText = field.scalar === 9 && !/^(orderBy|pageToken|cursor|digest)$/.test(at);
    if (fieldKind === "scalar") return isText ? [[at]] : [];
    if (fieldKind === "list" && field.listKind === "scalar") return isText ? [[at, 0]] : [];
    if (fieldKind === "list" && field.listKind === "message") return stringFields(field.message, depth + 1).map((path) => [at, 0, ...path]);
    return fieldKind === "message" ? stringFields(field.message, depth + 1).map((path) => [at, ...path]) : [];
  });
}

function setAt(json: JsonObject, path: Path, value: string): void {
  let inner = json as Record<string | number, JsonValue>;
  for (const [index, key] of path.entries()) {
    if (index === path.length - 1) inner[key] = value;
    else {
      inner[key] ??= typeof path[index + 1] === "number" ? [] : {};
      inner = inner[key] as Record<string | number, JsonValue>;
    }
  }
}

function isScope(field: DescField): boolean {
  return (hasOption(field, iamScope) && getOption(field, iamScope)) || /^parent(_id)?$/.test(field.name);
}

function scopePathOf(schema: DescMessage): Path | undefined {
  for (const field of schema.fields.filter(isScope)) {
    if (field.fieldKind === "scalar") return [field.jsonName];
    const inner = field.fieldKind === "message" ? scopePathOf(field.message) : undefined;
    if (inner !== undefined) return [field.jsonName, ...inner];
  }
  return undefined;
}

/** Sets the field that names the scope to the uid itself; the minimal request may name something missing below it. */
function setScope(schema: DescMessage, message: object, uid: string): void {
  const values = message as Record<string, unknown>;
  for (const field of schema.fields.filter(isScope)) {
    if (field.fieldKind === "scalar") values[field.localName] = uid;
    else if (field.fieldKind === "message") setScope(field.message, values[field.localName] as object, uid);
  }
}
