/** Version 1 is a view of the data of version 2: the same resources, rows, rights and refusals under other names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DescMethodUnary, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code } from "../../src/lib/errors.ts";
import { isAtOrBelow } from "../../src/lib/uid.ts";
import { answerOf, type Client, codeOf, errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import {
  collectionOf,
  createParent,
  createResource,
  hasMethod,
  itemsOf,
  listingCapabilities,
  methodOf,
  parentForOneMore,
  type Verb,
} from "../harness/samples.ts";
import {
  createInV1,
  deleteInV1,
  isInVersionOne,
  methodInV1,
  requestInV1,
  type SampleInVersionOne,
  uidInV1,
  updateInV1,
} from "../harness/samples-v1.ts";
import { describeWithSamples, resources, samples } from "./samples.ts";

const ROUNDS = 6;
/** Fields whose values differ between two resources that were created alike. */
const OWN = ["uid", "createTime", "updateTime", "lastSeenTime", "etag", "endpointUrl"];

describeWithSamples("version 1 of the API", (world) => {
  const callV1 = (client: Client, sample: SampleInVersionOne, verb: Verb, request: JsonObject, token = world.owner.token) => {
    const method = methodInV1(sample, verb) as DescMethodUnary;
    return client.call(method, requestInV1(method, request), token);
  };
  const jsonV1 = async (client: Client, sample: SampleInVersionOne, verb: Verb, request: JsonObject, token?: string) => {
    const method = methodInV1(sample, verb) as DescMethodUnary;
    return toJson(method.output, answerOf(await callV1(client, sample, verb, request, token)), { alwaysEmitImplicit: true }) as JsonObject;
  };
  const listV1 = async (client: Client, sample: SampleInVersionOne, request: JsonObject, token?: string) =>
    (await jsonV1(client, sample, "List", request, token)).items as JsonObject[];
  const read = async (sample: SampleInVersionOne, uid: string) => parse((await world.raw("GET", `${collectionOf(sample)}/${uid}`)).text);

  for (const sample of samples.filter(isInVersionOne)) {
    test(`${sample.title} that version 1 creates or updates equals that of version 2`, async () => {
      for (const client of [world.rest, world.grpc]) {
        const places = await createParent(world, sample, await world.group(world.orgUid));
        const place = () => parentForOneMore(world, sample, places);
        const [parent, other] = [await place(), await place()];
        const body = await sample.body(world, parent, `alike ${client.protocol}`);
        const uid = uidInV1(sample, await jsonV1(client, sample, "Create", createInV1(sample, parent, body)));
        const twin = parse((await createResource(world, sample, other, `alike too ${client.protocol}`)).text);
        const withoutOwn = (resource: JsonObject) => without(resource, [...OWN, ...sample.ownFields]);
        const expected = without(withoutOwn(await read(sample, textOf(twin.uid))), missingIn(sample));
        assert.deepEqual(without(withoutOwn(await read(sample, uid)), missingIn(sample)), expected);
        if (methodInV1(sample, "Update") === undefined) continue;
        world.clock.advance(1000);
        const change = await sample.change(world, parent);
        await jsonV1(client, sample, "Update", updateInV1(sample, uid, change));
        const changed = await read(sample, uid);
        for (const [name, value] of Object.entries(without(change, missingIn(sample)))) assertIncludes(changed[name], value, name);
      }
    });
  }

  for (const sample of resources.filter(isInVersionOne)) {
    test(`lists of ${sample.title} have the rows of version 2 in the same order, for every caller and filter`, async () => {
      const group = await world.group(await world.group(world.orgUid), "listed");
      const parent = await createParent(world, sample, group);
      for (const name of ["b", "a", "c"]) await createResource(world, sample, await parentForOneMore(world, sample, parent), name);
      const callers = [world.owner, await world.robot(group, listingCapabilities([sample])), await world.robot(group), await world.user()];
      const some = textOf((await rowsOfV2(world.rest, sample, { uidp: { descendantsOf: parent } }, world.owner.token))[0]?.uid);
      const filters: JsonObject[] = [
        {},
        ...["descendantsOf", "childrenOf", "ancestorsOf"].flatMap((each) =>
          [parent, group, some, "/", "x"].map((uid) => ({ [each]: uid })),
        ),
        { inRoot: true },
        { ids: [some, "nonsense", group] },
        { ids: [some], childrenOf: parent },
      ];
      if (!methodInV1(sample, "List")?.input.fields.some(({ name }) => name === "uidp")) return;
      for (const { token } of callers) {
        for (const uidp of filters) {
          const rows = await rowsOfV2(world.rest, sample, { uidp }, token);
          for (const client of [world.rest, world.grpc]) {
            const items = await listV1(client, sample, { uidp }, token);
            assert.deepEqual(
              items.map((item) => uidInV1(sample, item)),
              rows.map(({ uid }) => uid),
              JSON.stringify(uidp),
            );
            for (const [index, item] of items.entries())
              if (item.createdAt !== undefined) assert.equal(item.createdAt, rows[index]?.createTime);
          }
        }
      }
    });

    test(`version 1 refuses a caller without rights to ${sample.title} as version 2 does`, async () => {
      const parent = await createParent(world, sample, await world.group(world.orgUid));
      const uid = textOf(parse((await createResource(world, sample, parent, "refused")).text).uid);
      const body = await sample.body(world, parent, "refused too");
      const requests: readonly (readonly [Verb, JsonObject, JsonObject])[] = [
        ["Create", createInV1(sample, parent, body), { parent, [fieldIn(sample)]: body }],
        ["Update", updateInV1(sample, uid, body), { [fieldIn(sample)]: { ...body, uid } }],
        ["Delete", deleteInV1(sample, uid), { uid }],
      ];
      for (const caller of [await world.user(), await world.robot(parent.slice(0, 40))]) {
        for (const client of [world.rest, world.grpc]) {
          for (const [verb, v1, v2] of requests) {
            if (methodInV1(sample, verb) === undefined) continue;
            const refused = errorOf(await callV1(client, sample, verb, v1, caller.token));
            if (hasMethod(sample, verb)) {
              const method = methodOf(sample, verb);
              assert.deepEqual(refused, errorOf(await client.call(method, fromJson(method.input, v2), caller.token)));
            }
            if (verb !== "Create" || !sample.parentMayBeName) assert.equal(refused.code, Code.PERMISSION_DENIED);
          }
        }
      }
      assert.equal((await world.raw("GET", `${collectionOf(sample)}/${uid}`)).status, 200);
    });

    test(`${sample.title} that version 1 deletes is gone in version 2, and is then not found`, async () => {
      const parent = await createParent(world, sample, await world.group(world.orgUid));
      for (const client of [world.rest, world.grpc]) {
        const uid = textOf(parse((await createResource(world, sample, parent, client.protocol)).text).uid);
        await jsonV1(client, sample, "Delete", deleteInV1(sample, uid));
        assert.equal((await world.raw("GET", `${collectionOf(sample)}/${uid}`)).status, 404);
        const codes = [0, Code.NOT_FOUND];
        assert.ok(codes.includes(codeOf(await callV1(client, sample, "Delete", deleteInV1(sample, uid)))));
      }
    });

    test(`${sample.title} that version 1 creates never outlives a parent that is deleted in the meantime`, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const parent = await createParent(world, sample, await world.group(world.orgUid));
        const request = createInV1(sample, parent, await sample.body(world, parent, "child"));
        const remove = () => world.raw("DELETE", `${sample.parent.collection}/${parent}`);
        const create = () => callV1(world.rest, sample, "Create", request);
        const first = round % 2 === 0 ? remove() : create();
        const second = round % 2 === 0 ? create() : remove();
        await Promise.all([first, second]);
        if ((await world.raw("GET", `${sample.parent.collection}/${parent}`)).status === 200) continue;
        const left = await rowsOfV2(world.rest, sample, {}, world.owner.token);
        assert.ok(!left.some(({ uid }) => isAtOrBelow(textOf(uid), parent)), `${sample.title} outlived its parent`);
      }
    });
  }
});

/** All pages of the list of version 2. */
async function rowsOfV2(client: Client, sample: SampleInVersionOne, request: JsonObject, token: string): Promise<JsonObject[]> {
  const method = methodOf(sample, "List");
  const rows: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const page = answerOf(await client.call(method, fromJson(method.input, { ...request, pageSize: 200, pageToken }), token));
    const json = toJson(method.output, page) as JsonObject;
    rows.push(...((json[itemsOf(sample)] ?? []) as JsonObject[]));
    pageToken = textOf(json.nextPageToken ?? "");
    if (pageToken === "") return rows;
  }
}

function fieldIn({ kind }: SampleInVersionOne): string {
  return kind.charAt(0).toLowerCase() + kind.slice(1);
}

/** Fields of version 2 that version 1 cannot set. */
function missingIn(sample: SampleInVersionOne): readonly string[] {
  return sample.v1.missing ?? [];
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([name]) => !names.includes(name))
      .map(([name, value]) => [name, isObject(value) ? without(value, names) : value]),
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Secrets are never answered, and unset fields have their defaults. */
function assertIncludes(actual: unknown, expected: unknown, path: string): void {
  if (!isObject(expected)) {
    assert.deepEqual(actual, expected, path);
    return;
  }
  for (const [name, value] of Object.entries(expected))
    if (name !== "clientSecret") assertIncludes((actual as JsonObject)[name], value, `${path}.${name}`);
}
