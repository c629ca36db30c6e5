import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSession, serializeSession, withoutProviderSession } from "./stored-session.ts";

const narrowed = {
  uid: "a".repeat(40),
  scopes: ["b".repeat(40)],
  // Larger than any JSON number.
  capabilities: (1n << 120n) | 5n,
  within: "c".repeat(40),
  session: { provider: "d", version: 2, mappings: ["e"], directoryMappings: [] },
  // A token of an account that was deleted and registered again is void.
  registered: "2026-01-02T03:04:05.000Z",
};

test("a session survives serialization without other content of its token", () => {
  const principal = { ...narrowed, email: "somebody@example.com", actor: { sub: "x" } };
  assert.deepEqual(parseSession(serializeSession(principal)), narrowed);
  assert.equal(serializeSession(principal).includes("example.com"), false);
  const wide = { uid: "a", scopes: undefined, capabilities: undefined, within: undefined, session: undefined, registered: undefined };
  assert.deepEqual(parseSession(serializeSession(wide)), wide);
  // No capabilities at all must not become undefined, which means no limit.
  assert.equal(parseSession(serializeSession({ ...wide, capabilities: 0n })).capabilities, 0n);
});

test("a session without its provider part keeps its limits", () => {
  assert.deepEqual(withoutProviderSession(narrowed), { ...narrowed, session: undefined });
});
