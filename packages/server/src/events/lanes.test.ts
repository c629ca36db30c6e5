/** Places for slow sinks and for others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLanes } from "./lanes.ts";

test("a sink that fails has a place among the slow, others among the fast, until the turn ends", () => {
  const lanes = createLanes(() => {});
  const full = lanes.room();
  {
    using _one = lanes.enter("a", false);
    using _other = lanes.enter("b", true);
    assert.deepEqual(lanes.room(), { healthy: full.healthy - 1, failing: full.failing - 1 });
  }
  assert.deepEqual(lanes.room(), full);
});

test("an attempt that takes long moves among the slow, and there its subscription begins the next time", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let moves = 0;
  const lanes = createLanes(() => moves++);
  const full = lanes.room();
  {
    using place = lanes.enter("a", false);
    place.onAttempt();
    t.mock.timers.tick(1000);
    assert.deepEqual(lanes.room(), { healthy: full.healthy, failing: full.failing - 1 });
    assert.equal(moves, 1);
  }
  assert.deepEqual(lanes.room(), full);
  {
    using place = lanes.enter("a", false);
    assert.equal(lanes.room().failing, full.failing - 1);
    place.onAttempt();
  }
  using _ = lanes.enter("a", false);
  assert.equal(lanes.room().healthy, full.healthy - 1, "it was quick the last time");
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
  const places = Array.from({ length: lanes.room().failing }, (_, i) => lanes.enter(`failing${i}`, true));
  assert.deepEqual([lanes.hasPlace("slow", false), lanes.hasPlace("quick", false)], [false, true]);
  places[0]?.[Symbol.dispose]();
  assert.equal(lanes.hasPlace("slow", false), true);
});
