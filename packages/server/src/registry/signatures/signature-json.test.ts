import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "./signature-json.ts";

test("JSON of a signature is refused before it is parsed if it nests deep or has many values", () => {
  const refused: readonly [text: string, reason: RegExp][] = [
    [`{"a":${"[".repeat(100)}${"]".repeat(100)}}`, /limits: nested too deep/],
    [`{"a":[${"{},".repeat(500_000)}{}]}`, /limits: more than 1000000 values/],
    // Not even JSON, so it was not parsed.
    ["[".repeat(101), /limits: nested too deep/],
  ];
  for (const [text, reason] of refused) assert.throws(() => parseJson(Buffer.from(text)), reason);
  assert.deepEqual(
    parseJson(Buffer.from(`{"a":${"[".repeat(99)}${"]".repeat(99)}}`)),
    JSON.parse(`{"a":${"[".repeat(99)}${"]".repeat(99)}}`),
  );
});
