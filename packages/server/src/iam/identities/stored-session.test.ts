import assert from "node:assert/strict";
import { test } from "node:test";
import { lastingSession, sessionFromText, textOfSession } from "./stored-session.ts";

const narrowed = {
  uid: "a".repeat(40),
  scopes: ["b".repeat(40)],
  // Beyond what a number of JSON can say.
  capabilities: (1n << 120n) | 5n,
  within: "c".repeat(40),
  session: { provider: "d", version: 2, mappings: ["e"], directoryMappings: [] },
};

test("a session is the same after it was text, and carries nothing else of the token", () => {
  const principal = { ...narrowed, email: "somebody@example.com", actor: { sub: "x" } };
  assert.deepEqual(sessionFromText(textOfSession(principal)), narrowed);
  assert.equal(textOfSession(principal).includes("example.com"), false);
  const wide = { uid: "a", scopes: undefined, capabilities: undefined, within: undefined, session: undefined };
  assert.deepEqual(sessionFromText(textOfSession(wide)), wide);
  // Nothing at all is not everything.
  assert.equal(sessionFromText(textOfSession({ ...wide, capabilities: 0n })).capabilities, 0n);
});

test("what lasts of a session is its narrowing, and not what the sign-in gave", () => {
  assert.deepEqual(lastingSession(narrowed), { ...narrowed, session: undefined });
});
