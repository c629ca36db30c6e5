import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../../test/harness/property.ts";
import { parseStrictJson } from "./strict-json.ts";

test("a name given twice is refused at any depth and in any spelling", () => {
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

test("equal names in different objects, and strings that look like structure, are fine", () => {
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

test("what is not JSON or is nested too deep is refused", () => {
  for (const text of ["", "{", '{"a":1,}', "\ufeff{}", "{'a':1}", `${"[".repeat(40)}${"]".repeat(40)}`])
    assert.throws(() => parseStrictJson(text), SyntaxError, text);
});

test("any value that has a JSON text is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) =>
      assert.deepEqual(parseStrictJson(JSON.stringify(value)), JSON.parse(JSON.stringify(value))),
    ),
  );
});
