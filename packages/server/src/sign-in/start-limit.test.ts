import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../test/harness/manual-clock.ts";
import { SignInRefusal } from "./refusal.ts";
import { createStartLimit } from "./start-limit.ts";

test("no more than so many begin in a while, and as many again after it", () => {
  const clock = createManualClock();
  const limit = createStartLimit(clock, 3, 1000);
  for (let round = 0; round < 3; round++) {
    for (let begun = 0; begun < 3; begun++) limit.take();
    clock.advance(999);
    assert.throws(
      () => limit.take(),
      (error) => error instanceof SignInRefusal && error.status === 429,
    );
    clock.advance(1);
  }
});
