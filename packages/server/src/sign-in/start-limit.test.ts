import assert from "node:assert/strict";
import { test } from "node:test";
import { createManualClock } from "../../test/harness/manual-clock.ts";
import { SignInRefusal } from "./refusal.ts";
import { createStartLimit } from "./start-limit.ts";

function refuses(text: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof SignInRefusal && error.status === 429 && text.test(error.message);
}

test("the limit allows a fixed number of starts per window and as many in the next window", () => {
  const clock = createManualClock();
  const limit = createStartLimit({ clock, maxStarts: 3, windowMs: 1000, isProxy: () => false });
  for (let round = 0; round < 3; round++) {
    for (let begun = 0; begun < 3; begun++) limit.take(`192.0.2.${begun}`);
    clock.advance(999);
    assert.throws(() => limit.take("192.0.2.9"), refuses(/Too many people are signing in at this moment/));
    clock.advance(1);
  }
});

test("an address that has started an eighth of all sign-ins is refused, and other addresses are not", () => {
  const clock = createManualClock();
  const limit = createStartLimit({ clock, maxStarts: 80, windowMs: 1000, isProxy: () => false });
  for (let begun = 0; begun < 10; begun++) limit.take(`2001:db8::${begun}`);
  assert.throws(() => limit.take("2001:db8::ffff"), refuses(/your network/));
  limit.take("2001:db8:1::1");
  limit.take("192.0.2.1");
  clock.advance(1000);
  limit.take("2001:db8::1");
});

test("people behind a trusted proxy do not share the limit of one address", () => {
  const limit = createStartLimit({
    clock: createManualClock(),
    maxStarts: 80,
    windowMs: 1000,
    isProxy: (address) => address === "10.0.0.1",
  });
  for (let begun = 0; begun < 80; begun++) limit.take("10.0.0.1");
  assert.throws(() => limit.take("10.0.0.1"), refuses(/at this moment/));
});

test("a start that is taken back does not count, also not after its window", () => {
  const clock = createManualClock();
  const limit = createStartLimit({ clock, maxStarts: 1, windowMs: 1000, isProxy: () => false });
  limit.take("192.0.2.1")();
  const takeBack = limit.take("192.0.2.1");
  clock.advance(1000);
  limit.take("192.0.2.1");
  takeBack();
  assert.throws(() => limit.take("192.0.2.1"), refuses(/your network/));
});
