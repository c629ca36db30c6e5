import assert from "node:assert/strict";
import { test } from "node:test";
import { code } from "./comparison-markdown.ts";

test("a name with markup does not leave its cell", () => {
  assert.equal(code("@scope/na|me`\n| x"), "`@scope/na\\|me' \\| x`");
});
