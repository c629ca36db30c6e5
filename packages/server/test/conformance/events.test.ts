/** Every operation whose annotation names an event emits exactly that event when it succeeds, and none when it fails. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type DescMessage, type DescMethodUnary, fromJson, getOption, hasOption, type JsonObject, toJson } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { events, http } from "@holt/api";
import { Audience } from "@holt/api/gen/platform/annotations/annotations_pb.ts";
import { httpRequestOf } from "../harness/clients.ts";
import { type ContractOperation, operations } from "../harness/contract.ts";
import { storeNames } from "../harness/harness.ts";
import { parse, textOf } from "../harness/json.ts";
import { eventsAfter, lastSeq, type RecordedEvent } from "../harness/outbox.ts";
import { collectionOf, createParent, createResource, fieldOf } from "../harness/samples.ts";
import { createInV1, deleteInV1, isInVersionOne, methodInV1 } from "../harness/samples-v1.ts";
import type { World } from "../harness/world.ts";
import { operationSamples, resources, samples, startSampleWorld } from "./samples.ts";
import { standardWriteOf, succeedingCall } from "./succeeding-call.ts";

const evented = operations.filter(({ method, isServed }) => hasOption(method, events) && isServed);
/** The versions that REST serves; events name the version of the call. */
const versions = ["v2", "v2beta1"] as const;
const profiles = [
  { profile: "", prefix: "dev.holt", root: "platform." },
  { profile: "chainguard", prefix: "dev.chainguard", root: "chainguard.platform." },
];

for (const store of storeNames) {
  for (const { profile, prefix, root } of profiles) {
    describe(`events on ${store} with vendor profile "${profile}"`, () => {
      let world: World;
      before(async () => {
        world = await startSampleWorld({ store, env: { HOLT_VENDOR_PROFILE: profile } });
      });
      after(() => world[Symbol.asyncDispose]());

      for (const operation of evented) {
        const { name, method } = operation;
        for (const version of versions.filter((each) => each === "v2" || name.includes(".v2."))) {
          test(`${name} called as ${version} emits exactly one event`, async () => {
            const call = await succeedingCall(world, operation);
            const before = await lastSeq(world);
            world.clock.advance(1000);
            const { verb, path, body } = httpRequestOf(method, fromJson(method.input, call.request));
            const answer = await world.raw(verb, path.replace("/v2/", `/${version}/`), body, call.token);
            assert.equal(answer.status, 200, answer.text);
            const [event, ...more] = await eventsAfter(world, before);
            assert.ok(event, "there is no event");
            assert.deepEqual(more, []);

            const answered = answer.text === "" ? {} : parse(answer.text);
            const { type, audience } = getOption(method, events);
            const isEmpty = method.output.typeName === EmptySchema.typeName;
            const schema = isEmpty ? method.input : method.output;
            const wireType = schema.typeName.replace("platform.", root).replace(".v2.", `.${version}.`);
            const template = (getOption(method, http).pattern.value as string).replace(/\/\{.*$/, "").replace("/v2/", `/${version}/`);
            assert.equal(event.type, `${prefix}.${type}`);
            assert.equal(event.source, world.baseUrl + template);
            assert.equal(event.subject, call.subject(answered));
            assert.equal(event.group_uid, call.group(answered));
            assert.equal(event.time, world.clock.now().toISOString());
            assert.equal(event.audience, audience === Audience.CUSTOMER ? "customer" : "internal");
            assert.equal(event.body_type, profile === "" || wireType.startsWith("holt.") ? wireType : wireType.replace(".v1.", "."));
            assert.deepEqual(parse(event.extensions), call.extensions?.(answered) ?? {});
            assert.match(event.id, /^[0-9a-f-]{36}$/);
            const expected = isEmpty ? call.request : eventBodyOf(method, answered);
            assertEnvelope(event, schema, expected, call.isAnonymous ? undefined : (call.actor ?? world.owner.uid));
          });
        }
      }

      if (profile !== "") return;

      for (const operation of evented) {
        const { name, method } = operation;
        test(`${name} emits no event if it fails`, async () => {
          const request = fromJson(method.input, await failingRequest(world, operation));
          const robot = await world.robot(world.orgUid);
          const before = await lastSeq(world);
          for (const token of [world.owner.token, robot.token, "garbage"]) {
            for (const client of [world.rest, world.grpc]) assert.equal((await client.call(method, request, token)).ok, false);
          }
          assert.deepEqual(await eventsAfter(world, before), []);
        });
      }

      for (const sample of resources) {
        test(`reading ${sample.title} emits no event`, async () => {
          const parent = await createParent(world, sample, await world.group(world.orgUid));
          const { uid } = parse((await createResource(world, sample, parent, "read")).text);
          const before = await lastSeq(world);
          assert.equal((await world.raw("GET", collectionOf(sample))).status, 200);
          assert.equal((await world.raw("GET", `${collectionOf(sample)}/${textOf(uid)}`)).status, 200);
          assert.deepEqual(await eventsAfter(world, before), []);
        });
      }
    });
  }
}

/** A request that is refused even from the owner. */
async function failingRequest(world: World, operation: ContractOperation): Promise<JsonObject> {
  const special = operationSamples.get(operation.name)?.event;
  if (special !== undefined) return special.failing(world);
  const { sample, write, isV1 } = standardWriteOf(operation);
  if (isV1 && isInVersionOne(sample)) {
    if (write === "Create") return createInV1(sample, world.orgUid, {});
    return deleteInV1(sample, write === "Update" ? `${world.orgUid}/0123456789abcdef` : "malformed");
  }
  if (write === "Create") return { parent: world.orgUid, [fieldOf(sample)]: {} };
  if (write === "Update") return { [fieldOf(sample)]: { uid: `${world.orgUid}/0123456789abcdef` } };
  return { uid: "malformed" };
}

/** The part of an answer that its event contains: redacted fields are for the caller alone. */
function eventBodyOf({ output }: DescMethodUnary, answer: JsonObject): JsonObject {
  const inV1 = samples.filter(isInVersionOne).find((sample) => methodInV1(sample, "Create")?.output === output)?.v1;
  const fields = (inV1 ?? samples.find(({ schema }) => schema === output))?.eventFields;
  const redacted = output.fields.filter(({ proto }) => proto.options?.debugRedact).map(({ jsonName }) => jsonName);
  return Object.fromEntries(Object.entries(answer).filter(([key]) => !redacted.includes(key) && (fields?.includes(key) ?? true)));
}

/** Asserts that the data consists of an actor and a body, and that the body is this message under its proto names. */
function assertEnvelope({ data }: RecordedEvent, schema: DescMessage, expected: JsonObject, actor: string | undefined): void {
  const envelope = parse(data) as { actor?: { subject: string; act: JsonObject }; body: JsonObject };
  assert.deepEqual(Object.keys(envelope), actor === undefined ? ["body"] : ["actor", "body"]);
  if (actor !== undefined) {
    assert.deepEqual(Object.keys(envelope.actor ?? {}), ["subject", "act"]);
    assert.equal(envelope.actor?.subject, actor);
  }
  const names = schema.fields.map(({ name }) => name);
  for (const key of Object.keys(envelope.body)) assert.ok(names.includes(key), `${key} is not a proto name of ${schema.typeName}`);
  assert.deepEqual(toJson(schema, fromJson(schema, envelope.body)), toJson(schema, fromJson(schema, expected)));
}
