import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../../test/harness/property.ts";
import { parseStrictJson } from "./strict-json.ts";

test("parseStrictJson rejects a duplicate name at any depth and in any spelling", () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"x":{"a":1,"b":{},"a":1}}',
    '[{"a":[],"a":{}}]',
    '{"a":{"a":1},"a":1}',
    '{"":1,"":1}',
    '{"__proto__":1,"__proto__":2}',
  ]) {
    assert.throws(() => parseStrictJson(text), SyntaxError, text);
  }
});

test("parseStrictJson accepts equal names in different objects and strings that look like structure", () => {
  for (const text of [
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":"b","b":"a"}',
    '{"a":"{\\"a\\":1,","b":"\\\\"}',
    '["a","a"]',
    '{"a":["a","a"],"b":[]}',
  ]) {
    assert.deepEqual(parseStrictJson(text), JSON.parse(text));
  }
});

test("parseStrictJson rejects text that is not JSON or is nested too deep", () => {
  for (const text of ["", "{", '{"a":1,}', "\ufeff{}", "{'a':1}", `${"[".repeat(40)}${"]".repeat(40)}`])
    assert.throws(() => parseStrictJson(text), SyntaxError, text);
});

test("parseStrictJson reads every JSON value as JSON.parse does", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) =>
      assert.deepEqual(parseStrictJson(JSON.stringify(value)), JSON.parse(JSON.stringify(value))),
    ),
  );
});

test("parseStrictJson counts the values outside of strings, and refuses too many before it builds them", () => {
  const text = '{"a":[1,2],"b":",,[[{{::"}';
  assert.deepEqual(parseStrictJson(text, { maxValues: 6 }), JSON.parse(text));
  assert.throws(() => parseStrictJson(text, { maxValues: 5 }), /more than 5 values/);
  assert.throws(() => parseStrictJson("[".repeat(1_000_000)), /nested too deep/);
});
