/** Deleting a parent while a child is created never leaves a child without its parent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, textOf } from "../harness/json.ts";
import { collectionOf, createParent, itemsOf } from "../harness/samples.ts";
import { describeWithSamples, resources } from "./samples.ts";

const ROUNDS = 15;

describeWithSamples("concurrent writes", (world) => {
  const exists = async (path: string) => (await world.raw("GET", path)).status === 200;

  for (const sample of resources) {
    test(`${sample.title} never outlives a parent that is deleted while it is created`, async () => {
      const collection = collectionOf(sample);
      for (let round = 0; round < ROUNDS; round++) {
        const place = await createParent(world, sample, await world.group(world.orgUid));
        const body = await sample.body(world, place, "child");
        const parent = `${sample.parent.collection}/${place}`;
        const remove = () => world.raw("DELETE", parent);
        const create = () => world.raw("POST", `${collection}/${place}`, body);
        const first = round % 2 === 0 ? remove() : create();
        const second = round % 2 === 0 ? create() : remove();
        const [deleted, created] = round % 2 === 0 ? [await first, await second] : [await second, await first];
        assert.ok(deleted.status === 200 || deleted.status === 400, deleted.text);
        assert.ok(created.status === 200 || created.status === 404, created.text);
        const parentStays = await exists(parent);
        const childStays = created.status === 200 && (await exists(`${collection}/${textOf(parse(created.text).uid)}`));
        assert.equal(parentStays, deleted.status !== 200);
        if (childStays) assert.ok(parentStays, `${sample.title} outlived its parent`);
        if (!parentStays) {
          const left = parse((await world.raw("GET", `${collection}?uidp.descendantsOf=${place}`)).text);
          assert.deepEqual([left[itemsOf(sample)], left.totalCount], [[], "0"]);
        }
      }
    });
  }
});
