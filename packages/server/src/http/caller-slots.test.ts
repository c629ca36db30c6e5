import assert from "node:assert/strict";
import { test } from "node:test";
import { createCallerSlots } from "./caller-slots.ts";

test("one network has a part of the anonymous slots, and other networks and callers keep theirs", () => {
  const slots = createCallerSlots(64);
  const held = Array.from({ length: 16 }, () => slots.take(undefined, "192.0.2.1"));
  assert.throws(() => slots.take(undefined, "192.0.2.1"), /from your network are at their limit/);
  slots.take(undefined, "192.0.2.2");
  slots.take("somebody", "192.0.2.1");
  held[0]?.[Symbol.dispose]();
  slots.take(undefined, "192.0.2.1");
});

test("all networks together have no more slots than one caller", () => {
  const slots = createCallerSlots(10);
  for (let network = 0; network < 10; network++) slots.take(undefined, `192.0.2.${network}`);
  assert.throws(() => slots.take(undefined, "192.0.2.99"), /requests without a token are at their limit/);
});

test("a refused transfer keeps no slot of its network", () => {
  const slots = createCallerSlots(8);
  const held = Array.from({ length: 8 }, () => slots.take(undefined, undefined));
  for (let attempt = 0; attempt < 20; attempt++) assert.throws(() => slots.take(undefined, "192.0.2.1"));
  for (const slot of held) slot[Symbol.dispose]();
  for (let transfer = 0; transfer < 8; transfer++) slots.take(undefined, "192.0.2.1");
});

test("without a limit, networks have none either", () => {
  const slots = createCallerSlots(0);
  for (let transfer = 0; transfer < 100; transfer++) slots.take(undefined, "192.0.2.1");
});
