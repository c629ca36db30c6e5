/** Every resource with an Update obeys field masks: over REST and gRPC, inferred, named, empty and wrong. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type DescField, fromJson, type JsonObject, toJson, toJsonString } from "@bufbuild/protobuf";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { lastSeq } from "../harness/outbox.ts";
import { assertInvalid } from "../harness/refusal.ts";
import {
  collectionOf,
  createParent,
  createResource,
  fieldOf,
  forgedOutputsOf,
  hasMethod,
  methodOf,
  outputsOf,
  parentForOneMore,
  type ResourceSample,
} from "../harness/samples.ts";
import { describeWithSamples, resources } from "./samples.ts";

describeWithSamples("field masks", (world) => {
  for (const sample of resources.filter((each) => hasMethod(each, "Update"))) {
    describe(`the field mask of ${sample.title}`, () => {
      let parent: string;
      let given: JsonObject;
      let text: string;
      let created: JsonObject;
      let change: JsonObject;
      beforeEach(async () => {
        parent = await createParent(world, sample, await world.group(world.orgUid));
        given = await sample.body(world, parent, "before");
        text = (await world.raw("POST", `${collectionOf(sample)}/${parent}`, given)).text;
        created = parse(text);
        change = await sample.change(world, parent);
        world.clock.advance(1000);
      });
      const uri = () => `${collectionOf(sample)}/${textOf(created.uid)}`;
      const patch = (query: string, body: JsonObject) => world.raw("PATCH", `${uri()}${query}`, body);
      const stored = async () => (await world.raw("GET", uri())).text;

      test("an update without a mask changes exactly the fields in the body", async () => {
        for (const [key, value] of Object.entries(change)) {
          const before = parse(await stored());
          const after = parse((await patch("", { [key]: value })).text);
          assertOnlyChanged(sample, before, after, [key]);
          assert.deepEqual(after[key], value);
        }
      });

      test("a field that is null counts as absent: it stays without a mask, and is cleared by a mask that names it", async () => {
        for (const [key, value] of Object.entries(change)) {
          await patch("", { [key]: value });
          const before = await stored();
          assert.equal((await patch("", { [key]: null })).text, before);
          const query = `?updateMask=${key}`;
          const answers = [await patch(query, { [key]: null }), await patch(query, {})];
          assert.equal(answers[0]?.status, answers[1]?.status);
          assert.equal(answers[0]?.text, answers[1]?.text);
          await patch("?updateMask=*", created);
        }
      });

      test("a mask is obeyed in camelCase and snake_case, and fields that it does not name stay", async () => {
        for (const key of Object.keys(change)) {
          const { name = "" } = fieldNamed(sample, key) ?? {};
          for (const query of [`?updateMask=${key}`, `?update_mask=${name}`]) {
            const before = await stored();
            const after = (await patch(query, change)).text;
            assertOnlyChanged(sample, parse(before), parse(after), [key]);
            await patch(query, created);
          }
        }
      });

      test("a mask can name several paths, separated by commas or in repeated parameters", async () => {
        const keys = Object.keys(change);
        const repeated = keys.map((key) => `updateMask=${key}`).join("&");
        for (const query of [`?updateMask=${keys.join(",")}`, `?${repeated}`]) {
          const after = parse((await patch(query, change)).text);
          assertOnlyChanged(sample, created, after, keys);
          for (const key of keys) assert.deepEqual(after[key], change[key]);
          await patch("?updateMask=*", created);
        }
      });

      test("the mask * replaces every writable field", async () => {
        const after = parse((await patch("?updateMask=*", change)).text);
        for (const { jsonName } of writableFields(sample)) {
          if (change[jsonName] !== undefined) assert.deepEqual(after[jsonName], change[jsonName]);
          else if (sample.keptFields.includes(jsonName)) assert.deepEqual(after[jsonName], created[jsonName], jsonName);
          else assert.equal(after[jsonName], undefined, jsonName);
        }
      });

      test("a mask with an unknown path is refused and nothing changes", async () => {
        for (const path of ["nonsense", `${Object.keys(change)[0]},nonsense`, `${Object.keys(change)[0]}.nonsense`]) {
          const answer = await patch(`?updateMask=${path}`, change);
          assertInvalid(answer, "update_mask");
          assert.equal(await stored(), text);
        }
      });

      test("a mask with an empty path is refused over REST and gRPC and nothing changes", async () => {
        const [key = ""] = Object.keys(change);
        for (const mask of [`${key},`, `,${key}`, `${key},,${key}`, ","])
          assertInvalid(await patch(`?updateMask=${mask}`, change), "update_mask");
        const request = { [fieldOf(sample)]: { uid: textOf(created.uid), [key]: change[key] ?? null }, updateMask: `${key},` };
        const update = methodOf(sample, "Update");
        const overGrpc = await world.grpc.call(update, fromJson(update.input, request), world.owner.token);
        assert.equal(codeOf(overGrpc), Code.INVALID_ARGUMENT);
        assert.equal(await stored(), text);
      });

      test("output-only paths in a mask are ignored", async () => {
        const outputs = outputsOf(sample);
        const inner = outputs.flatMap(({ name, message }) => (message?.fields ?? []).map((field) => `${name}.${field.name}`));
        const paths = [...outputs.flatMap(({ name, jsonName }) => [name, jsonName]), ...inner];
        for (const name of paths) {
          const answer = await patch(`?updateMask=${name}`, { ...created, ...forgedOutputsOf(sample) });
          assert.equal(answer.text, text, name);
        }
        assert.equal(await stored(), text);
      });

      test("output-only paths inside a message are ignored, whether or not the message is set", async () => {
        for (const path of innerOutputsOf(sample)) {
          for (const body of [created, {}]) assert.equal((await patch(`?updateMask=${path}`, body)).text, text, path);
        }
        assert.equal(await stored(), text);
      });

      test("an empty mask changes no field and no time and emits no event", async () => {
        const seq = await lastSeq(world);
        assert.equal((await patch("", {})).text, text);
        assert.equal((await patch("?updateMask=", {})).text, text);
        assert.equal((await patch("?updateMask=uid", {})).text, text);
        const request = fromJson(methodOf(sample, "Update").input, { [fieldOf(sample)]: { uid: textOf(created.uid) } });
        const overGrpc = answerOf(await world.grpc.call(methodOf(sample, "Update"), request, world.owner.token));
        assert.equal(toJsonString(sample.schema, overGrpc), toJsonString(sample.schema, fromJson(sample.schema, created)));
        assert.equal(await stored(), text);
        assert.equal(await lastSeq(world), seq);
      });

      test("an update to the current values changes no field and no time and emits no event", async () => {
        const seq = await lastSeq(world);
        assert.equal((await patch("", given)).text, text);
        assert.equal((await patch("?updateMask=*", created)).text, text);
        assert.equal(await stored(), text);
        assert.equal(await lastSeq(world), seq);
      });

      test("a gRPC update without a mask changes exactly the fields that are set", async () => {
        for (const [key, value] of Object.entries(change)) {
          // gRPC does not send empty values.
          if (value === "" || (Array.isArray(value) && value.length === 0)) continue;
          const before = parse(await stored());
          const request = fromJson(methodOf(sample, "Update").input, { [fieldOf(sample)]: { uid: textOf(created.uid), [key]: value } });
          const after = answerOf(await world.grpc.call(methodOf(sample, "Update"), request, world.owner.token));
          assertOnlyChanged(sample, before, parse(await stored()), [key]);
          assert.equal(toJsonString(sample.schema, after), toJsonString(sample.schema, fromJson(sample.schema, parse(await stored()))));
        }
      });

      test("a gRPC update empties a field that only the mask names", async () => {
        if (change.description === undefined) return;
        await patch("", { description: "something" });
        const request = fromJson(methodOf(sample, "Update").input, {
          [fieldOf(sample)]: { uid: textOf(created.uid) },
          updateMask: "description",
        });
        const after = answerOf(await world.grpc.call(methodOf(sample, "Update"), request, world.owner.token));
        assert.equal((toJson(sample.schema, after) as JsonObject).description, undefined);
        assert.equal(parse(await stored()).description, "");
      });

      test("the body of an update cannot redirect it to another resource", async () => {
        const otherParent = await parentForOneMore(world, sample, parent);
        const other = parse((await createResource(world, sample, otherParent, "other")).text);
        const otherUri = `${collectionOf(sample)}/${textOf(other.uid)}`;
        const before = (await world.raw("GET", otherUri)).text;
        const after = await patch("", { ...change, uid: other.uid ?? "" });
        assert.equal(parse(after.text).uid, created.uid);
        assert.equal((await world.raw("GET", otherUri)).text, before);
      });
    });
  }
});

function fieldNamed(sample: ResourceSample, jsonName: string): DescField | undefined {
  return sample.schema.fields.find((field) => field.jsonName === jsonName);
}

function writableFields(sample: ResourceSample): readonly DescField[] {
  return sample.schema.fields.filter((field) => !outputsOf(sample).includes(field));
}

/** Paths of output-only fields inside of the messages that callers may set. */
function innerOutputsOf(sample: ResourceSample): readonly string[] {
  return writableFields(sample).flatMap((field) =>
    field.fieldKind === "message" ? outputsOf({ schema: field.message }).map(({ name }) => `${field.name}.${name}`) : [],
  );
}

/** Asserts that the named fields changed, and besides them only the update time and the fields derived from them. */
function assertOnlyChanged(sample: ResourceSample, before: JsonObject, after: JsonObject, keys: readonly string[]): void {
  const changing = new Set([...keys, ...keys.map((key) => sample.derivedFields[key] ?? ""), "updateTime"]);
  const rest = (json: JsonObject) => Object.fromEntries(Object.entries(json).filter(([key]) => !changing.has(key)));
  assert.deepEqual(rest(after), rest(before), `${sample.title}: ${keys}`);
  for (const key of keys) assert.notDeepEqual(after[key], before[key], key);
}
