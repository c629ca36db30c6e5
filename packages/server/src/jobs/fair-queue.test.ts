/** Which runs get slots, and in which order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createFairQueue, type FairQueueOptions } from "./fair-queue.ts";

const [ORG, OTHER, THIRD] = ["a", "b", "c"].map((letter) => letter.repeat(40)) as [string, string, string];

function createRuns(options: Partial<FairQueueOptions> = {}) {
  const refusal = () => new Error("full");
  const queue = createFairQueue({ slots: 2, shareOfOne: 1 / 2, maxWaitingOfOne: 2, maxWaiting: 3, refusal, ...options });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    start: (uid: string, name: string) =>
      queue.run(uid, async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
      }),
    async end(name: string) {
      await nextTurn();
      ends.get(name)?.();
      await nextTurn();
    },
  };
}

test("an organization with many runs leaves a slot to another, which does not wait", async () => {
  const { begun, start, end } = createRuns();
  const runs = [start(`${ORG}/1`, "a1"), start(`${ORG}/2`, "a2"), start(ORG, "a3"), start(OTHER, "b1")];
  await nextTurn();
  assert.deepEqual(begun, ["a1", "b1"]);
  for (const name of ["a1", "a2", "a3", "b1"]) await end(name);
  await Promise.all(runs);
  assert.deepEqual(begun, ["a1", "b1", "a2", "a3"]);
});

test("the waiting organization whose last turn is longest ago is next", async () => {
  const { begun, start, end } = createRuns({ slots: 1, shareOfOne: 1 });
  const runs = [start(ORG, "a1"), start(ORG, "a2"), start(OTHER, "b1"), start(THIRD, "c1")];
  for (const name of ["a1", "b1", "c1", "a2"]) await end(name);
  await Promise.all(runs);
  assert.deepEqual(begun, ["a1", "b1", "c1", "a2"]);
});

test("a run is refused while too many runs of its organization or of all wait", async () => {
  const { start, end } = createRuns({ slots: 1, shareOfOne: 1 });
  const runs = [start(ORG, "a1"), start(ORG, "a2"), start(ORG, "a3")];
  await assert.rejects(start(ORG, "a4"), { message: "full" });
  runs.push(start(OTHER, "b1"));
  await assert.rejects(start(THIRD, "c1"), { message: "full" });
  for (const name of ["a1", "b1", "a2", "a3"]) await end(name);
  await Promise.all(runs);
});

test("the slot of a run that fails is free again", async () => {
  const queue = createFairQueue({ slots: 1, maxWaitingOfOne: 0, maxWaiting: 0, refusal: () => new Error("full") });
  await assert.rejects(
    queue.run(ORG, () => Promise.reject(new Error("no"))),
    { message: "no" },
  );
  assert.equal(await queue.run(ORG, async () => 1), 1);
});
