import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../test/harness/manual-clock.ts";
import { SignInRefusal } from "./refusal.ts";
import { createStartLimit } from "./start-limit.ts";

test("the limit allows a fixed number of starts per window and as many in the next window", () => {
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
