import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type DescField, fromJson, getOption, type JsonObject, type JsonValue, toJson, toJsonString } from "@bufbuild/protobuf";
import { fieldBehavior } from "@holt/api";
import { FieldBehavior } from "@holt/api/gen/google/api/field_behavior_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, type Client, codeOf, errorOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import {
  asListed,
  asRead,
  changeTo,
  collectionOf,
  domainOf,
  fieldOf,
  forgedOutputsOf,
  hasField,
  hasMethod,
  itemsOf,
  methodOf,
  outputsOf,
  parentKindOf,
  parse,
  placeFor,
  resources,
  type Sample,
  samples,
  startSampleWorld,
  textOf,
  uidPatternIn,
} from "../harness/samples.ts";
import type { World } from "../harness/world.ts";

/** Deleting these succeeds also where there are none. */
const DELETED_TWICE = ["RoleBinding", "AccountAssociation"];
const NO_SEGMENT = "0123456789abcdef";
const MALFORMED = ["nonsense", "ABCDEF", "a/b", "%25", "0".repeat(39), `${"0".repeat(40)}/${"0".repeat(15)}`];

for (const store of storeNames) {
  describe(`every resource on ${store}`, () => {
    let world: World;
    let clients: Client[];
    before(async () => {
      world = await startSampleWorld({ store });
      clients = [world.rest, world.grpc];
    });
    after(() => world[Symbol.asyncDispose]());

    for (const sample of samples) {
      it(`answers the same complete ${sample.title} from Create, Get, List and Update, byte for byte`, async () => {
        const path = collectionOf(sample);
        const place = await placeFor(world, sample, await world.group(world.orgUid));
        const given = await sample.make(world, place, "first");
        const created = await world.raw("POST", `${path}/${place}`, given);
        assert.equal(created.status, 200, created.text);
        const made = parse(created.text);
        assertIsComplete(sample.schema.fields, given, made);
        for (const [key, value] of Object.entries(given)) if (!isInputOnly(sample, key)) assertContains(made[key], value);
        assert.match(textOf(made.uid), uidPatternIn(sample, place));
        assertTimes(sample, made, world.clock.now().toISOString(), world.clock.now().toISOString());

        const uri = `${path}/${textOf(made.uid)}`;
        const list = () => world.raw("GET", `${path}?uidp.childrenOf=${place}&${new URLSearchParams(sample.filter(made) as never)}`);
        const listed = (text: string) => `{"${itemsOf(sample)}":[${asListed(sample, text)}],"totalCount":"1","skipped":0}`;
        const read = asRead(sample, created.text);
        assert.equal((await world.raw("GET", uri)).text, read);
        assert.equal((await list()).text, listed(read));

        world.clock.advance(1000);
        if (!sample.isImmutable) {
          const change = await sample.change(world, place);
          const updated = await changeTo(world, sample, made, change);
          assert.equal(updated.status, 200, updated.text);
          for (const [key, value] of Object.entries(change)) assertContains(parse(updated.text)[key], value);
          assertTimes(sample, parse(updated.text), made.createTime, world.clock.now().toISOString());
          assert.equal((await world.raw("GET", uri)).text, updated.text);
          assert.equal((await world.raw("GET", `${path}?uidp.ids=${textOf(made.uid)}`)).text, listed(updated.text));
        }

        const deleted = await world.raw("DELETE", uri);
        assert.deepEqual([deleted.status, deleted.text], [200, path.includes("/v2/") ? "" : "{}"]);
        assert.equal((await world.raw("GET", uri)).status, 404);
        assert.deepEqual(parse((await list()).text), { [itemsOf(sample)]: [], totalCount: "0", skipped: 0 });
      });

      it(`says of ${sample.title} over gRPC what it says over REST`, async () => {
        const place = await placeFor(world, sample, await world.group(world.orgUid));
        const given = await sample.make(world, place, "by grpc");
        const request = fromJson(methodOf(sample, "Create").input, { parent: place, [fieldOf(sample)]: given });
        const made = answerOf(await world.grpc.call(methodOf(sample, "Create"), request, world.owner.token));
        const { uid } = toJson(sample.schema, made) as { uid: string };
        const overRest = fromJson(sample.schema, parse((await world.raw("GET", `${collectionOf(sample)}/${uid}`)).text));
        for (const name of sample.shownOnce) {
          assert.notEqual((made as unknown as JsonObject)[name], "");
          (made as unknown as JsonObject)[name] = "";
        }
        assert.equal(toJsonString(sample.schema, made), toJsonString(sample.schema, overRest));

        if (sample.isImmutable) return;
        const change = await sample.change(world, place);
        const [verb, body] = hasMethod(sample, "Update")
          ? (["Update", { [fieldOf(sample)]: { ...change, uid }, updateMask: "*" }] as const)
          : sample.isImmutable
            ? (["Get", { uid }] as const)
            : (["Create", { parent: place, [fieldOf(sample)]: { ...given, ...change } }] as const);
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
      it(`ignores uid, all output-only fields and all unknown ones of ${sample.title} that is made`, async () => {
        const place = await placeFor(world, sample, await world.group(world.orgUid));
        const given = await sample.make(world, place, "made");
        const outputs = outputsOf(sample).map(({ jsonName }) => jsonName);
        for (const name of ["uid", "createTime", "updateTime"].filter((each) => hasField(sample, each)))
          assert.ok(outputs.includes(name), name);
        const body = { ...given, ...forgedOutputsOf(sample), nonsense: [{ unknown: null }] };
        const made = parse((await world.raw("POST", `${collectionOf(sample)}/${place}`, body)).text);
        const other = sample.hasUidOfGroup ? await world.group(world.orgUid) : place;
        const plain = parse(
          (await world.raw("POST", `${collectionOf(sample)}/${other}`, await sample.make(world, other, "made plainly"))).text,
        );
        assert.match(textOf(made.uid), uidPatternIn(sample, place));
        const own = new Set([
          "uid",
          "name",
          "identity",
          "identityUid",
          "email",
          "keyId",
          "chainguard",
          "externalGroupId",
          ...sample.shownOnce,
        ]);
        const without = (json: JsonObject) => Object.fromEntries(Object.entries(json).filter(([key]) => !own.has(key)));
        // What is made of its uid is its own, too.
        const general = (json: JsonObject) => parse(JSON.stringify(without(json)).replaceAll(textOf(json.uid), "UID"));
        assert.deepEqual(general(made), general(plain));
        for (const key of own) assert.notEqual(made[key] ?? "", "forged", key);
      });

      it(`answers NOT_FOUND with its ResourceInfo where ${sample.title} is missing`, async () => {
        const uid = `${world.orgUid}/${NO_SEGMENT}`;
        for (const client of clients) {
          for (const verb of verbsOf(sample)) {
            if (verb === "Delete" && DELETED_TWICE.includes(sample.kind)) continue;
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

      it(`answers NOT_FOUND for a malformed uid of ${sample.title}`, async () => {
        for (const uid of MALFORMED) {
          for (const client of clients) {
            for (const verb of verbsOf(sample)) {
              const outcome = await client.call(methodOf(sample, verb), requestFor(sample, verb, uid), world.owner.token);
              assert.equal(codeOf(outcome), Code.NOT_FOUND, `${verb} of ${uid} over ${client.protocol}`);
            }
          }
        }
      });

      it(`refuses ${sample.title} whose parent is malformed or missing`, async () => {
        const given = await sample.make(world, world.orgUid, "orphan");
        for (const client of clients) {
          const create = (parent: string) =>
            client.call(
              methodOf(sample, "Create"),
              fromJson(methodOf(sample, "Create").input, { parent, [fieldOf(sample)]: given }),
              world.owner.token,
            );
          const missing = errorOf(await create(`${world.orgUid}/${NO_SEGMENT}`));
          assert.deepEqual(
            [missing.code, missing.message],
            [Code.NOT_FOUND, `Not found: ${parentKindOf(sample)} "${world.orgUid}/${NO_SEGMENT}"`],
          );
          // A group's parent may be a name.
          if (sample.kind === "Group") continue;
          const malformed = errorOf(await create("NOT A UID"));
          assert.equal(malformed.code, Code.INVALID_ARGUMENT);
          assert.deepEqual(fieldsOf(malformed.details), ["parent"]);
        }
      });
    }

    for (const kind of DELETED_TWICE) {
      it(`makes a deleted ${kind} and one that never was the same: deleting succeeds`, async () => {
        const sample = resources.find((each) => each.kind === kind);
        assert.ok(sample);
        for (const client of clients) {
          const request = requestFor(sample, "Delete", `${world.orgUid}/${NO_SEGMENT}`);
          assert.equal(codeOf(await client.call(methodOf(sample, "Delete"), request, world.owner.token)), 0);
        }
      });
    }
  });
}

function verbsOf(sample: Sample) {
  return (["Get", "Update", "Delete"] as const).filter((verb) => hasMethod(sample, verb));
}

function requestFor(sample: Sample, verb: "Get" | "Update" | "Delete", uid: string) {
  const { input } = methodOf(sample, verb);
  return fromJson(input, verb === "Update" ? { [fieldOf(sample)]: { uid, description: "x" } } : { uid }, { ignoreUnknownFields: true });
}

function fieldsOf(details: readonly JsonObject[]): JsonValue[] {
  return details.flatMap(({ fieldViolations = [] }) => (fieldViolations as { field: string }[]).map(({ field }) => field));
}

/** Fields are always there, but for those that are given or not: members of a oneof, and optional messages. All in the order in which they are declared. */
function assertIsComplete(fields: readonly DescField[], given: JsonObject, made: JsonObject): void {
  const keys = Object.keys(made);
  for (const field of fields) {
    const isChoice = field.oneof !== undefined || isOptionalMessage(field);
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
  for (const value of Object.values(made)) assert.notEqual(value, null);
}

function isOptionalMessage(field: DescField): boolean {
  return field.fieldKind === "message" && behaviorsOf(field).includes(FieldBehavior.OPTIONAL);
}

function isInputOnly({ schema }: Sample, jsonName: string): boolean {
  return schema.fields.some((field) => field.jsonName === jsonName && behaviorsOf(field).includes(FieldBehavior.INPUT_ONLY));
}

function behaviorsOf(field: DescField): FieldBehavior[] {
  return getOption(field, fieldBehavior);
}

/** What is written reads back; what the server adds to it may stand beside it. */
function assertContains(actual: JsonValue | undefined, expected: JsonValue | undefined): void {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected)) assert.deepEqual(actual, expected);
  else for (const [key, value] of Object.entries(expected)) assertContains((actual as JsonObject)[key], value);
}

/** A binding has no update time, a tag no create time. */
function assertTimes(sample: Sample, { createTime, updateTime }: JsonObject, created: JsonValue | undefined, updated: JsonValue): void {
  assert.equal(createTime, hasField(sample, "createTime") ? created : undefined);
  assert.equal(updateTime, hasField(sample, "updateTime") ? updated : undefined);
}
