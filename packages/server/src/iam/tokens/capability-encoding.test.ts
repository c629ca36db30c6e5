import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../../../test/harness/property.ts";
import { decodeCapabilities, encodeCapabilities } from "./capability-encoding.ts";

test("a capability set with bits 62 to 123 is encoded as documented: two words, 32 characters, starting AAAAAAAAAHx", () => {
  const text = encodeCapabilities((1n << 123n) | (1n << 62n));
  assert.match(text, /^AAAAAAAAAHx/);
  assert.equal(text.length, 32);
  assert.equal(Buffer.from(text, "base64url").readBigUInt64BE(0), 124n);
});

test("capability sets of one, three and four words are padded", () => {
  assert.equal(encodeCapabilities(0n), "AAAAAAAAADIAAAAAAAAAAA==");
  assert.equal(encodeCapabilities(1n << 49n), "AAAAAAAAADIAAgAAAAAAAA==");
  assert.match(encodeCapabilities(1n << 130n), /[^=]=$/);
  assert.match(encodeCapabilities(1n << 221n), /[^=]==$/);
});

test("decoding an encoded capability set returns the same set", () => {
  fc.assert(fc.property(fc.bigInt(0n, (1n << 300n) - 1n), (set) => assert.equal(decodeCapabilities(encodeCapabilities(set)), set)));
});

test("decoding rejects a string that is not a capability set", () => {
  for (const text of ["", "AAAA", "AAAAAAAAADIAAAAAAAAAAA", "AAAAAAAAAHIAAAAAAAAAAA==", "AAAAAAAAADI=", "/////////////////////w=="])
    assert.throws(() => decodeCapabilities(text), text);
});
