import assert from "node:assert/strict";
import { test } from "node:test";
import { createCallerSlots } from "./caller-slots.ts";

test("the anonymous callers of one network share the slots of one caller, and others keep theirs", () => {
  const slots = createCallerSlots(16);
  const held = Array.from({ length: 16 }, () => slots.take(undefined, "192.0.2.1"));
  assert.throws(() => slots.take(undefined, "192.0.2.1"), /from your network are at their limit/);
  for (let network = 2; network < 200; network++) slots.take(undefined, `192.0.2.${network}`);
  slots.take("somebody", "192.0.2.1");
  held[0]?.[Symbol.dispose]();
  slots.take(undefined, "192.0.2.1");
  assert.throws(() => slots.take(undefined, "192.0.2.1"));
});

test("callers behind a proxy that names nobody share the slots of one caller", () => {
  const slots = createCallerSlots(10);
  for (let transfer = 0; transfer < 10; transfer++) slots.take(undefined, undefined);
  assert.throws(() => slots.take(undefined, undefined), /requests without a token/);
  slots.take(undefined, "192.0.2.1");
});

test("an identity has its slots from all networks together", () => {
  const slots = createCallerSlots(2);
  for (let network = 0; network < 2; network++) slots.take("somebody", `192.0.2.${network}`);
  assert.throws(() => slots.take("somebody", "192.0.2.9"), /requests of this identity are at their limit/);
});

test("without a limit, networks have none either", () => {
  const slots = createCallerSlots(0);
  for (let transfer = 0; transfer < 100; transfer++) slots.take(undefined, "192.0.2.1");
});
