import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, HoltError } from "../../lib/errors.ts";
import { createPasswordHashes } from "./password-hash.ts";

const NETWORK = "192.0.2.1";

test("a hash accepts its password only, in each of its Unicode forms", async () => {
  const passwords = createPasswordHashes();
  const stored = await passwords.hash("pässword of twelve", NETWORK);
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  assert.notEqual(await passwords.hash("pässword of twelve", NETWORK), stored);
  assert.equal(await passwords.verify("pässword of twelve".normalize("NFD"), stored, NETWORK), true);
  assert.equal(await passwords.verify("pässword of twelv", stored, NETWORK), false);
});

test("an account without a password costs one hash like any other, and has no right password", async () => {
  const passwords = createPasswordHashes();
  const stored = await passwords.hash("pässword of twelve", NETWORK);
  const before = passwords.computed();
  await passwords.verify("wrong", stored, NETWORK);
  assert.equal(passwords.computed(), before + 1);
  assert.equal(await passwords.verify("", undefined, NETWORK), false);
  assert.equal(passwords.computed(), before + 2);
});

test("beyond the queue of a network, its hashes are refused and those of others still run", async () => {
  const passwords = createPasswordHashes();
  const outcomes = Array.from({ length: 30 }, () => passwords.verify("wrong", undefined, NETWORK).catch((error: unknown) => error));
  const other = passwords.verify("wrong", undefined, "192.0.2.2");
  const refused = (await Promise.all(outcomes)).filter(
    (outcome) => outcome instanceof HoltError && outcome.code === Code.RESOURCE_EXHAUSTED,
  );
  assert.equal(refused.length, 8);
  assert.equal(await other, false);
});
