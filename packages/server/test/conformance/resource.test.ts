/** Every resource can be created, read, listed, changed and deleted, with the same answers over REST and gRPC. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DescField, fromJson, getOption, type JsonObject, type JsonValue, toJson, toJsonString } from "@bufbuild/protobuf";
import { fieldBehavior } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { fieldsOf } from "../harness/refusal.ts";
import {
  asListed,
  asRead,
  changeResource,
  collectionOf,
  createParent,
  createResource,
  domainOf,
  fieldOf,
  forgedOutputsOf,
  hasField,
  hasMethod,
  itemsOf,
  methodOf,
  outputsOf,
  type ResourceSample,
  uidPatternIn,
} from "../harness/samples.ts";
import { describeWithSamples, resources, samples } from "./samples.ts";

/** The last segment of a uid that belongs to nothing. */
const MISSING = "0123456789abcdef";
const MALFORMED = ["nonsense", "ABCDEF", "a/b", "%25", "0".repeat(39), `${"0".repeat(40)}/${"0".repeat(15)}`];

describeWithSamples("resources", (world) => {
  for (const sample of samples) {
    test(`Create, Get, List and Update answer the same bytes for ${sample.title}`, async () => {
      const path = collectionOf(sample);
      const parent = await createParent(world, sample, await world.group(world.orgUid));
      const given = await sample.body(world, parent, "first");
      const answer = await world.raw("POST", `${path}/${parent}`, given);
      assert.equal(answer.status, 200, answer.text);
      const created = parse(answer.text);
      assertIsComplete(sample, given, created);
      for (const [key, value] of Object.entries(given)) if (!isInputOnly(sample, key)) assertContains(created[key], value);
      assert.match(textOf(created.uid), uidPatternIn(sample, parent));
      assertTimes(sample, created, world.clock.now().toISOString(), world.clock.now().toISOString());

      const uri = `${path}/${textOf(created.uid)}`;
      const list = () =>
        world.raw("GET", `${path}?uidp.childrenOf=${parent}&${new URLSearchParams(sample.uniqueFilter(created) as never)}`);
      const listed = (text: string) => `{"${itemsOf(sample)}":[${asListed(sample, text)}],"totalCount":"1","skipped":0}`;
      const read = asRead(sample, answer.text);
      assert.equal((await world.raw("GET", uri)).text, read);
      assert.equal((await list()).text, listed(read));

      world.clock.advance(1000);
      if (!sample.isImmutable) {
        const change = await sample.change(world, parent);
        const updated = await changeResource(world, sample, created, change);
        assert.equal(updated.status, 200, updated.text);
        for (const [key, value] of Object.entries(change)) assertContains(parse(updated.text)[key], value);
        assertTimes(sample, parse(updated.text), created.createTime, world.clock.now().toISOString());
        assert.equal((await world.raw("GET", uri)).text, updated.text);
        assert.equal((await world.raw("GET", `${path}?uidp.ids=${textOf(created.uid)}`)).text, listed(updated.text));
      }

      const deleted = await world.raw("DELETE", uri);
      assert.deepEqual([deleted.status, deleted.text], [200, path.includes("/v2/") ? "" : "{}"]);
      assert.equal((await world.raw("GET", uri)).status, 404);
      assert.deepEqual(parse((await list()).text), { [itemsOf(sample)]: [], totalCount: "0", skipped: 0 });
    });

    test(`gRPC and REST answer the same for ${sample.title}`, async () => {
      const parent = await createParent(world, sample, await world.group(world.orgUid));
      const given = await sample.body(world, parent, "by grpc");
      const request = fromJson(methodOf(sample, "Create").input, { parent, [fieldOf(sample)]: given });
      const created = answerOf(await world.grpc.call(methodOf(sample, "Create"), request, world.owner.token));
      const { uid } = toJson(sample.schema, created) as { uid: string };
      const overRest = fromJson(sample.schema, parse((await world.raw("GET", `${collectionOf(sample)}/${uid}`)).text));
      for (const name of sample.shownOnce) {
        assert.notEqual((created as unknown as JsonObject)[name], "");
        (created as unknown as JsonObject)[name] = "";
      }
      assert.equal(toJsonString(sample.schema, created), toJsonString(sample.schema, overRest));

      if (sample.isImmutable) return;
      const change = await sample.change(world, parent);
      const [verb, body] = hasMethod(sample, "Update")
        ? (["Update", { [fieldOf(sample)]: { ...change, uid }, updateMask: "*" }] as const)
        : (["Create", { parent, [fieldOf(sample)]: { ...given, ...change } }] as const);
      const method = methodOf(sample, verb);
      const updated = answerOf(await world.grpc.call(method, fromJson(method.input, body), world.owner.token));
      const after = toJson(sample.schema, updated, { alwaysEmitImplicit: true }) as JsonObject;
      assert.equal(after.uid, uid);
      for (const [key, value] of Object.entries(change)) assertContains(after[key], value);
      const got = answerOf(
        await world.grpc.call(methodOf(sample, "Get"), fromJson(methodOf(sample, "Get").input, { uid }), world.owner.token),
      );
      assert.equal(toJsonString(sample.schema, got), toJsonString(sample.schema, updated));
      const list = fromJson(methodOf(sample, "List").input, { uidp: { ids: [uid] } });
      const page = toJson(
        methodOf(sample, "List").output,
        answerOf(await world.grpc.call(methodOf(sample, "List"), list, world.owner.token)),
      );
      const listed = fromJson(sample.schema, parse(asListed(sample, toJsonString(sample.schema, got))));
      assert.deepEqual((page as JsonObject)[itemsOf(sample)], [toJson(sample.schema, listed)]);
    });
  }

  for (const sample of resources) {
    test(`creating ${sample.title} ignores the uid, output-only fields and unknown fields in the body`, async () => {
      const parent = await createParent(world, sample, await world.group(world.orgUid));
      const outputs = outputsOf(sample).map(({ jsonName }) => jsonName);
      for (const name of ["uid", "createTime", "updateTime"].filter((each) => hasField(sample, each)))
        assert.ok(outputs.includes(name), name);
      const body = { ...(await sample.body(world, parent, "forged name")), ...forgedOutputsOf(sample), nonsense: [{ unknown: null }] };
      const forging = parse((await world.raw("POST", `${collectionOf(sample)}/${parent}`, body)).text);
      const otherParent = sample.hasUidOfGroup ? await world.group(world.orgUid) : parent;
      const plain = parse((await createResource(world, sample, otherParent, "plain name")).text);
      assert.match(textOf(forging.uid), uidPatternIn(sample, parent));
      const own = ["uid", ...sample.ownFields, ...sample.shownOnce];
      const without = (json: JsonObject) => Object.fromEntries(Object.entries(json).filter(([key]) => !own.includes(key)));
      // Other fields can be derived from the uid.
      const comparable = (json: JsonObject) => parse(JSON.stringify(without(json)).replaceAll(textOf(json.uid), "UID"));
      assert.deepEqual(comparable(forging), comparable(plain));
      for (const key of own) {
        assert.ok(hasField(sample, key), `${sample.title} has no field ${key}`);
        assert.notEqual(forging[key], "forged", key);
        assert.notDeepEqual(forging[key], plain[key], `${key} is not its own`);
      }
    });

    test(`creating ${sample.title} twice answers ALREADY_EXISTS where its name or place must be its own`, async () => {
      const parent = await createParent(world, sample, await world.group(world.orgUid));
      const given = await sample.body(world, parent, "first");
      const createIt = async () => (await world.raw("POST", `${collectionOf(sample)}/${parent}`, given)).status;
      assert.equal(await createIt(), 200);
      assert.equal(await createIt(), hasOwnName(sample) ? 409 : 200);
    });

    if (hasOwnName(sample) && hasMethod(sample, "Update") && hasField(sample, "name") && !sample.hasUidOfGroup) {
      test(`an update of ${sample.title} to the name of another one answers ALREADY_EXISTS`, async () => {
        const parent = await createParent(world, sample, await world.group(world.orgUid));
        await createResource(world, sample, parent, "first");
        const { uid } = parse((await createResource(world, sample, parent, "second")).text);
        assert.equal((await world.raw("PATCH", `${collectionOf(sample)}/${textOf(uid)}`, { name: "first" })).status, 409);
      });
    }

    test(`a call on ${sample.title} that does not exist answers NOT_FOUND with its ResourceInfo`, async () => {
      const uid = `${world.orgUid}/${MISSING}`;
      for (const client of world.clients) {
        for (const verb of verbsOf(sample)) {
          if (verb === "Delete" && sample.deletesMissing) continue;
          const outcome = await client.call(methodOf(sample, verb), requestFor(sample, verb, uid), world.owner.token);
          const { code, message, details } = errorOf(outcome);
          assert.equal(code, Code.NOT_FOUND, `${verb} over ${client.protocol}`);
          assert.equal(message, `Not found: ${sample.kind} "${uid}"`);
          assert.deepEqual(details, [
            { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "NOT_FOUND", domain: `${domainOf(sample)}.holt.dev` },
            {
              "@type": "type.googleapis.com/google.rpc.ResourceInfo",
              resourceType: `${domainOf(sample)}.holt.dev/${sample.kind}`,
              resourceName: uid,
            },
          ]);
        }
      }
      assert.equal((await world.raw("GET", `${collectionOf(sample)}/${uid}`)).status, 404);
    });

    test(`a call on ${sample.title} with a malformed uid answers NOT_FOUND`, async () => {
      for (const uid of MALFORMED) {
        for (const client of world.clients) {
          for (const verb of verbsOf(sample)) {
            const outcome = await client.call(methodOf(sample, verb), requestFor(sample, verb, uid), world.owner.token);
            assert.equal(codeOf(outcome), Code.NOT_FOUND, `${verb} of ${uid} over ${client.protocol}`);
          }
        }
      }
    });

    test(`creating ${sample.title} in a malformed or missing parent is refused`, async () => {
      const given = await sample.body(world, world.orgUid, "orphan");
      for (const client of world.clients) {
        const create = (parent: string) =>
          client.call(
            methodOf(sample, "Create"),
            fromJson(methodOf(sample, "Create").input, { parent, [fieldOf(sample)]: given }),
            world.owner.token,
          );
        const missing = errorOf(await create(`${world.orgUid}/${MISSING}`));
        assert.deepEqual(
          [missing.code, missing.message],
          [Code.NOT_FOUND, `Not found: ${sample.parent.kind} "${world.orgUid}/${MISSING}"`],
        );
        if (sample.parentMayBeName) continue;
        const malformed = errorOf(await create("NOT A UID"));
        assert.equal(malformed.code, Code.INVALID_ARGUMENT);
        assert.deepEqual(fieldsOf(malformed.details), ["parent"]);
      }
    });
  }

  for (const sample of resources.filter(({ deletesMissing }) => deletesMissing)) {
    test(`deleting ${sample.title} that does not exist succeeds`, async () => {
      for (const client of world.clients) {
        const request = requestFor(sample, "Delete", `${world.orgUid}/${MISSING}`);
        assert.equal(codeOf(await client.call(methodOf(sample, "Delete"), request, world.owner.token)), 0);
      }
    });
  }
});

function verbsOf(sample: ResourceSample) {
  return (["Get", "Update", "Delete"] as const).filter((verb) => hasMethod(sample, verb));
}

/** Whether no other one in its parent may have its name. False also for a resource that Create changes under its name. */
function hasOwnName(sample: ResourceSample): boolean {
  return (!sample.sharesNames || sample.hasUidOfGroup) && (hasMethod(sample, "Update") || sample.isImmutable);
}

function requestFor(sample: ResourceSample, verb: "Get" | "Update" | "Delete", uid: string) {
  const { input } = methodOf(sample, verb);
  return fromJson(input, verb === "Update" ? { [fieldOf(sample)]: { uid, description: "x" } } : { uid }, { ignoreUnknownFields: true });
}

/**
 * Asserts that all fields are present in the order of their declaration. Members of a oneof and optional messages are
 * present only if they were given.
 */
function assertIsComplete({ schema: { fields }, absentAtFirst }: ResourceSample, given: JsonObject, created: JsonObject): void {
  const keys = Object.keys(created);
  for (const field of fields) {
    const isChoice = field.oneof !== undefined || isOptionalMessage(field) || absentAtFirst.includes(field.jsonName);
    if (behaviorsOf(field).includes(FieldBehavior.INPUT_ONLY)) {
      assert.ok(!keys.includes(field.jsonName), field.jsonName);
      continue;
    }
    assert.equal(keys.includes(field.jsonName), !isChoice || given[field.jsonName] !== undefined, field.jsonName);
  }
  const order = fields.map((field) => field.jsonName);
  assert.deepEqual(
    keys,
    order.filter((key) => keys.includes(key)),
  );
  for (const value of Object.values(created)) assert.notEqual(value, null);
}

function isOptionalMessage(field: DescField): boolean {
  return field.fieldKind === "message" && behaviorsOf(field).includes(FieldBehavior.OPTIONAL);
}

function isInputOnly({ schema }: ResourceSample, jsonName: string): boolean {
  return schema.fields.some((field) => field.jsonName === jsonName && behaviorsOf(field).includes(FieldBehavior.INPUT_ONLY));
}

function behaviorsOf(field: DescField): FieldBehavior[] {
  return getOption(field, fieldBehavior);
}

/** Asserts that all expected members are present; the server may add others. */
function assertContains(actual: JsonValue | undefined, expected: JsonValue | undefined): void {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected)) assert.deepEqual(actual, expected);
  else for (const [key, value] of Object.entries(expected)) assertContains((actual as JsonObject)[key], value);
}

/** Asserts the times of the resource, as far as it has them. */
function assertTimes(
  sample: ResourceSample,
  { createTime, updateTime }: JsonObject,
  created: JsonValue | undefined,
  updated: JsonValue,
): void {
  assert.equal(createTime, hasField(sample, "createTime") ? created : undefined);
  assert.equal(updateTime, hasField(sample, "updateTime") ? updated : undefined);
}
