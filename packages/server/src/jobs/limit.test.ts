import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConcurrencyLimit, createConcurrencyLimit, createFairLimit, type Slot } from "./limit.ts";

const createLimit = (slots: number) => createConcurrencyLimit(slots, () => new Error("full"));

/** Takes a slot and holds it until the returned functions are called. */
function holdSlot(limit: ConcurrencyLimit): { slot: Promise<Slot>; finish: () => void; done: Promise<void> } {
  const finished = Promise.withResolvers<void>();
  const slot = Promise.withResolvers<Slot>();
  const done = limit.run(async (taken) => {
    slot.resolve(taken);
    await finished.promise;
  });
  return { slot: slot.promise, finish: finished.resolve, done };
}

test("a limit rejects work that finds no free slot, and runs work again once a slot is free", async () => {
  const limit = createLimit(1);
  const { finish, done } = holdSlot(limit);
  await assert.rejects(
    limit.run(async () => assert.fail("it ran")),
    { message: "full" },
  );
  finish();
  await done;
  assert.equal(await limit.run(async () => 7), 7);
});

test("work that fails gives its slot back", async () => {
  const limit = createLimit(1);
  for (let i = 0; i < 3; i++)
    await assert.rejects(
      limit.run(() => Promise.reject(new Error("broken"))),
      { message: "broken" },
    );
});

test("a slot that is released early is given back once only", async () => {
  const limit = createLimit(1);
  const first = holdSlot(limit);
  const slot = await first.slot;
  slot.release();
  slot.release();
  const second = holdSlot(limit);
  await assert.rejects(
    limit.run(async () => {}),
    { message: "full" },
  );
  first.finish();
  await first.done;
  await assert.rejects(
    limit.run(async () => {}),
    { message: "full" },
  );
  second.finish();
  await second.done;
});

test("an organization leaves slots of a fair limit to others, and a slot is given back once only", () => {
  const limit = createFairLimit(4, () => new Error("full"));
  const [org, other] = ["a".repeat(40), "b".repeat(40)];
  const first = limit.take(`${org}/1`);
  limit.take(`${org}/2`);
  assert.throws(() => limit.take(`${org}/3`), { message: "full" });
  limit.take(other);
  assert.throws(() => limit.take(other), { message: "full" });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  limit.take(other);
  assert.throws(() => limit.take(other), { message: "full" });
});
