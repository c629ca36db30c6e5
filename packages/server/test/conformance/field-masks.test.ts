import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { type DescField, fromJson, type JsonObject, toJson, toJsonString } from "@bufbuild/protobuf";
import { sql } from "kysely";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, type HttpAnswer } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import {
  collectionOf,
  fieldOf,
  forgedOutputsOf,
  hasMethod,
  methodOf,
  outputsOf,
  parse,
  placeFor,
  placeForOne,
  resources,
  type Sample,
  startSampleWorld,
  textOf,
} from "../harness/samples.ts";
import type { World } from "../harness/world.ts";

for (const store of storeNames) {
  describe(`the field mask of an update on ${store}`, () => {
    let world: World;
    before(async () => {
      world = await startSampleWorld({ store });
    });
    after(() => world[Symbol.asyncDispose]());

    for (const sample of resources.filter((each) => hasMethod(each, "Update"))) {
      describe(`of ${sample.title}`, () => {
        let group: string;
        let given: JsonObject;
        let text: string;
        let made: JsonObject;
        let change: JsonObject;
        beforeEach(async () => {
          group = await placeFor(world, sample, await world.group(world.orgUid));
          given = await sample.make(world, group, "before");
          text = (await world.raw("POST", `${collectionOf(sample)}/${group}`, given)).text;
          made = parse(text);
          change = await sample.change(world, group);
          world.clock.advance(1000);
        });
        const uri = () => `${collectionOf(sample)}/${textOf(made.uid)}`;
        const patch = (query: string, body: JsonObject) => world.raw("PATCH", `${uri()}${query}`, body);
        const stored = async () => (await world.raw("GET", uri())).text;

        it("is inferred from the keys of the body: each changes alone", async () => {
          for (const [key, value] of Object.entries(change)) {
            const before = parse(await stored());
            const after = parse((await patch("", { [key]: value })).text);
            assertOnlyChanged(sample, before, after, [key]);
            assert.deepEqual(after[key], value);
          }
        });

        it("is obeyed in both spellings, of its paths and of the parameter, and what it does not name stays", async () => {
          for (const key of Object.keys(change)) {
            const { name = "" } = fieldNamed(sample, key) ?? {};
            for (const query of [`?updateMask=${key}`, `?update_mask=${name}`]) {
              const before = await stored();
              const after = (await patch(query, change)).text;
              assertOnlyChanged(sample, parse(before), parse(after), [key]);
              await patch("", { [key]: made[key] ?? null });
            }
          }
        });

        it("may name several paths, with commas or by repeating the parameter", async () => {
          const keys = Object.keys(change);
          const repeated = keys.map((key) => `updateMask=${key}`).join("&");
          for (const query of [`?updateMask=${keys.join(",")}`, `?${repeated}`]) {
            const after = parse((await patch(query, change)).text);
            assertOnlyChanged(sample, made, after, keys);
            for (const key of keys) assert.deepEqual(after[key], change[key]);
            await patch("?updateMask=*", made);
          }
        });

        it("* replaces every writable field", async () => {
          const after = parse((await patch("?updateMask=*", change)).text);
          for (const { jsonName } of writableFields(sample)) {
            if (change[jsonName] !== undefined) assert.deepEqual(after[jsonName], change[jsonName]);
            else if (jsonName !== "verified" && jsonName !== "kind") assert.equal(after[jsonName], undefined, jsonName);
          }
        });

        it("is refused where it names a path that there is not, and nothing is changed", async () => {
          for (const path of ["nonsense", `${Object.keys(change)[0]},nonsense`, `${Object.keys(change)[0]}.nonsense`]) {
            const answer = await patch(`?updateMask=${path}`, change);
            assertViolation(answer, "update_mask");
            assert.equal(await stored(), text);
          }
        });

        it("ignores paths that are output-only", async () => {
          const outputs = outputsOf(sample);
          const inner = outputs.flatMap(({ name, message }) => (message?.fields ?? []).map((field) => `${name}.${field.name}`));
          const paths = [...outputs.flatMap(({ name, jsonName }) => [name, jsonName]), ...inner];
          for (const name of paths) {
            const answer = await patch(`?updateMask=${name}`, { ...made, ...forgedOutputsOf(sample) });
            assert.equal(answer.text, text, name);
          }
          assert.equal(await stored(), text);
        });

        it("that is empty changes nothing, moves no time and makes no event", async () => {
          const events = await lastEvent(world);
          assert.equal((await patch("", {})).text, text);
          assert.equal((await patch("?updateMask=", {})).text, text);
          assert.equal((await patch("?updateMask=uid", {})).text, text);
          const request = fromJson(methodOf(sample, "Update").input, { [fieldOf(sample)]: { uid: textOf(made.uid) } });
          const overGrpc = answerOf(await world.grpc.call(methodOf(sample, "Update"), request, world.owner.token));
          assert.equal(toJsonString(sample.schema, overGrpc), toJsonString(sample.schema, fromJson(sample.schema, made)));
          assert.equal(await stored(), text);
          assert.equal(await lastEvent(world), events);
        });

        it("that names what is so already changes nothing, moves no time and makes no event", async () => {
          const events = await lastEvent(world);
          assert.equal((await patch("", given)).text, text);
          assert.equal((await patch("?updateMask=*", made)).text, text);
          assert.equal(await stored(), text);
          assert.equal(await lastEvent(world), events);
        });

        it("over gRPC is taken from the fields that are set where there is none", async () => {
          for (const [key, value] of Object.entries(change)) {
            // What is empty does not arrive.
            if (value === "" || (Array.isArray(value) && value.length === 0)) continue;
            const before = parse(await stored());
            const request = fromJson(methodOf(sample, "Update").input, { [fieldOf(sample)]: { uid: textOf(made.uid), [key]: value } });
            const after = answerOf(await world.grpc.call(methodOf(sample, "Update"), request, world.owner.token));
            assertOnlyChanged(sample, before, parse(await stored()), [key]);
            assert.equal(toJsonString(sample.schema, after), toJsonString(sample.schema, fromJson(sample.schema, parse(await stored()))));
          }
        });

        it("over gRPC sets a field empty that it names", async () => {
          if (change.description === undefined) return;
          await patch("", { description: "something" });
          const request = fromJson(methodOf(sample, "Update").input, {
            [fieldOf(sample)]: { uid: textOf(made.uid) },
            updateMask: "description",
          });
          const after = answerOf(await world.grpc.call(methodOf(sample, "Update"), request, world.owner.token));
          assert.equal((toJson(sample.schema, after) as JsonObject).description, undefined);
          assert.equal(parse(await stored()).description, "");
        });

        it("never lets the body say of which resource it is", async () => {
          const place = await placeForOne(world, sample, group);
          const other = parse((await world.raw("POST", `${collectionOf(sample)}/${place}`, await sample.make(world, place, "other"))).text);
          const otherUri = `${collectionOf(sample)}/${textOf(other.uid)}`;
          const before = (await world.raw("GET", otherUri)).text;
          const after = await patch("", { ...change, uid: other.uid ?? "" });
          assert.equal(parse(after.text).uid, made.uid);
          assert.equal((await world.raw("GET", otherUri)).text, before);
        });
      });
    }

    it("may go into a message, and leaves what stands beside", async () => {
      const claimMatch = { issuer: "https://a.example.com", subject: "s", audience: "a", claims: { a: "1" }, claimPatterns: { b: "2" } };
      const { uid } = parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "nested", claimMatch })).text);
      const uri = `/iam/v2/identities/${textOf(uid)}`;
      const patched = async (query: string, body: JsonObject) => {
        const answer = await world.raw("PATCH", uri + query, body);
        assert.equal(answer.status, 200, answer.text);
        return parse(answer.text).claimMatch;
      };
      let expected: JsonObject = { ...claimMatch, issuer: "https://b.example.com" };
      assert.deepEqual(await patched("", { claimMatch: { issuer: "https://b.example.com" } }), expected);
      // A map is one path.
      expected = { ...expected, claims: { c: "3" } };
      assert.deepEqual(await patched("", { claimMatch: { claims: { c: "3" } } }), expected);
      expected = { ...expected, claims: {} };
      assert.deepEqual(await patched("", { claimMatch: { claims: {} } }), expected);
      const { subject: _, ...noSubject } = expected;
      expected = { ...noSubject, subjectPattern: "s.*" };
      for (const path of ["claim_match.subject_pattern", "claimMatch.subjectPattern"]) {
        const body = { name: "not this", claimMatch: { subjectPattern: "s.*", issuer: "https://not-this.example.com" } };
        assert.deepEqual(await patched(`?updateMask=${path}`, body), expected);
        assert.equal(parse((await world.raw("GET", uri)).text).name, "nested");
      }
      assertViolation(await world.raw("PATCH", `${uri}?updateMask=claimMatch.nonsense`, {}), "update_mask");
      assertViolation(await world.raw("PATCH", `${uri}?updateMask=claimMatch.claims.c`, {}), "update_mask");
    });
  });
}

function fieldNamed(sample: Sample, jsonName: string): DescField | undefined {
  return sample.schema.fields.find((field) => field.jsonName === jsonName);
}

function writableFields(sample: Sample): readonly DescField[] {
  return sample.schema.fields.filter((field) => !outputsOf(sample).includes(field));
}

/** Besides the named fields, only the update time moves, and what is shown of what they point to. */
function assertOnlyChanged(sample: Sample, before: JsonObject, after: JsonObject, keys: readonly string[]): void {
  const follows: Record<string, string> = { identityUid: "identity", roleUid: "role", url: "status", kind: "status" };
  const moving = new Set([...keys, ...keys.map((key) => follows[key] ?? ""), "updateTime"]);
  const rest = (json: JsonObject) => Object.fromEntries(Object.entries(json).filter(([key]) => !moving.has(key)));
  assert.deepEqual(rest(after), rest(before), `${sample.title}: ${keys}`);
  for (const key of keys) assert.notDeepEqual(after[key], before[key], key);
}

function assertViolation({ status, text }: HttpAnswer, field: string): void {
  assert.equal(status, 400, text);
  const { code, details } = parse(text) as { code: number; details: { fieldViolations?: { field: string }[] }[] };
  assert.equal(code, Code.INVALID_ARGUMENT);
  assert.deepEqual(
    details.flatMap(({ fieldViolations = [] }) => fieldViolations.map((violation) => violation.field)),
    [field],
  );
}

async function lastEvent({ store }: World): Promise<number> {
  const { rows } = await sql<{ seq: number | null }>`select max(seq) as seq from outbox`.execute(store.reader);
  return Number(rows[0]?.seq ?? 0);
}
