/** Places for slow sinks and for others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLanes, type Lanes } from "./lanes.ts";

function free(lanes: Lanes): { healthy: number; failing: number } {
  const { healthy, failing } = lanes.room();
  return { healthy: healthy.free(), failing: failing.free() };
}

test("a sink that fails has a place among the slow, others among the fast, until the turn ends", () => {
  const lanes = createLanes(() => {});
  const full = free(lanes);
  {
    using _one = lanes.enter("a", false);
    using _other = lanes.enter("b", true);
    assert.deepEqual(free(lanes), { healthy: full.healthy - 1, failing: full.failing - 1 });
  }
  assert.deepEqual(free(lanes), full);
});

test("an attempt that takes long moves among the slow, and there its subscription begins the next time", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let moves = 0;
  const lanes = createLanes(() => moves++);
  const full = free(lanes);
  {
    using place = lanes.enter("a", false);
    place.onAttempt();
    t.mock.timers.tick(1000);
    assert.deepEqual(free(lanes), { healthy: full.healthy, failing: full.failing - 1 });
    assert.equal(moves, 1);
  }
  assert.deepEqual(free(lanes), full);
  {
    using place = lanes.enter("a", false);
    assert.equal(free(lanes).failing, full.failing - 1);
    place.onAttempt();
  }
  using _ = lanes.enter("a", false);
  assert.equal(free(lanes).healthy, full.healthy - 1, "it was quick the last time");
});

test("a sink that is known to be slow has no place while there is none among the slow, and others have", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const lanes = createLanes(() => {});
  {
    using place = lanes.enter("slow", false);
    place.onAttempt();
    t.mock.timers.tick(1000);
  }
  assert.equal(lanes.hasPlace("slow", false), true);
  const places = Array.from({ length: free(lanes).failing }, (_, i) => lanes.enter(`failing${i}`, true));
  assert.deepEqual([lanes.hasPlace("slow", false), lanes.hasPlace("quick", false)], [false, true]);
  places[0]?.[Symbol.dispose]();
  assert.equal(lanes.hasPlace("slow", false), true);
});

test("an organization has no more places than it leaves, in either lane, and those that move on are the next one's", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const lanes = createLanes(() => {});
  const [org, other] = ["a".repeat(40), "b".repeat(40)];
  const total = free(lanes);
  for (let i = 0; lanes.room().healthy.hasRoom(org); i++) lanes.enter(`${org}/${i}`, false);
  assert.deepEqual(free(lanes), { ...total, healthy: total.healthy / 2 });
  assert.deepEqual(lanes.room().healthy.full(), [org]);
  for (let i = 0; lanes.room().healthy.hasRoom(other); i++) lanes.enter(`${other}/${i}`, false);
  assert.deepEqual(free(lanes), { ...total, healthy: total.healthy / 4 });
  t.mock.timers.tick(1000);
  assert.deepEqual(free(lanes), { healthy: total.healthy, failing: total.failing - (total.healthy * 3) / 4 });
  for (let i = 0; lanes.room().failing.hasRoom(org); i++) lanes.enter(`${org}/failing${i}`, true);
  const known = lanes.enter(`${other}/known`, false);
  known.onAttempt();
  t.mock.timers.tick(1000);
  known[Symbol.dispose]();
  assert.equal(lanes.hasPlace(`${other}/known`, false), true);
  assert.equal(lanes.room().failing.hasRoom(org), false);
});
