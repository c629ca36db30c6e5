import assert from "node:assert/strict";
import { it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { uidFromText } from "../../src/lib/uid.ts";
import {
  builtInRole,
  collectionOf,
  entitleOwner,
  itemsOf,
  parentCollectionOf,
  parse,
  placeFor,
  resources,
  textOf,
} from "../harness/samples.ts";
import { describeWithWorld } from "../harness/world.ts";

const ROUNDS = 15;

describeWithWorld("what happens at the same time", (world) => {
  const exists = async (path: string) => (await world.raw("GET", path)).status === 200;

  it("leaves no child without its parent, whether the parent was deleted first or the child made first", async () => {
    await entitleOwner(world, world.orgUid);
    for (const sample of resources) {
      const collection = collectionOf(sample);
      for (let round = 0; round < ROUNDS; round++) {
        const place = await placeFor(world, sample, await world.group(world.orgUid));
        const body = await sample.make(world, place, "child");
        const parent = `${parentCollectionOf(sample)}/${place}`;
        const remove = () => world.raw("DELETE", parent);
        const make = () => world.raw("POST", `${collection}/${place}`, body);
        const first = round % 2 === 0 ? remove() : make();
        const second = round % 2 === 0 ? make() : remove();
        const [deleted, made] = round % 2 === 0 ? [await first, await second] : [await second, await first];
        assert.ok(deleted.status === 200 || deleted.status === 400, deleted.text);
        assert.ok(made.status === 200 || made.status === 404, made.text);
        const parentStays = await exists(parent);
        const childStays = made.status === 200 && (await exists(`${collection}/${textOf(parse(made.text).uid)}`));
        assert.equal(parentStays, deleted.status !== 200);
        if (childStays) assert.ok(parentStays, `${sample.title} outlived its parent`);
        if (!parentStays) {
          const left = parse((await world.raw("GET", `${collection}?uidp.descendantsOf=${place}`)).text);
          assert.deepEqual([left[itemsOf(sample)], left.totalCount], [[], "0"]);
        }
      }
    }
  });

  it("leaves no binding without its role", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const group = await world.group(world.orgUid);
      const roleUid = await world.role(group, [Capability.CAP_REPO_LIST]);
      const [deleted, bound] = await Promise.all([
        world.raw("DELETE", `/iam/v2/roles/${roleUid}`),
        world.raw("POST", `/iam/v2/roleBindings/${group}`, { identityUid: uidFromText("somebody"), roleUid }),
      ]);
      assert.ok(bound.status === 200 || bound.status === 404, bound.text);
      assert.equal(deleted.status, bound.status === 200 ? 400 : 200, deleted.text);
      assert.equal(await exists(`/iam/v2/roles/${roleUid}`), bound.status === 200);
    }
  });

  it("makes one binding of several that are the same, and one organization of several that claim a name", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const group = await world.group(world.orgUid);
      const binding = { identityUid: uidFromText("somebody"), roleUid: await builtInRole(world, "viewer") };
      const organization = { name: `org ${round}`, verified: true, kind: "ORG_KIND_DEV" };
      for (const [path, body] of [[`/iam/v2/roleBindings/${group}`, binding] as const, ["/iam/v2/groups", organization] as const]) {
        const answers = await Promise.all([1, 2, 3].map(() => world.raw("POST", path, body)));
        assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
      }
    }
  });

  it("loses no update: each of several to one resource is in what is left, and the counts are true", async () => {
    const { uid } = parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "robot", servicePrincipal: 1 })).text);
    const uri = `/iam/v2/identities/${uid}`;
    for (let round = 0; round < ROUNDS; round++) {
      const [name, description, company] = ["name", "description", "company"].map((field) => `${field} ${round}`);
      const answers = await Promise.all([{ name }, { description }, { company }].map((body) => world.raw("PATCH", uri, body as never)));
      assert.ok(answers.every(({ status }) => status === 200));
      const left = parse((await world.raw("GET", uri)).text);
      assert.deepEqual([left.name, left.description, left.company], [name, description, company]);
    }
    const group = await world.group(world.orgUid);
    const made = await Promise.all(Array.from({ length: 20 }, () => world.group(group)));
    await Promise.all(made.slice(0, 7).flatMap((child) => [1, 2].map(() => world.raw("DELETE", `/iam/v2/groups/${child}`))));
    const { totalCount } = parse((await world.raw("GET", `/iam/v2/groups?uidp.childrenOf=${group}`)).text);
    assert.equal(totalCount, "13");
  });
});
