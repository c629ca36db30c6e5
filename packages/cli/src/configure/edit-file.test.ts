import assert from "node:assert/strict";
import { test } from "node:test";
import { diff } from "./diff.ts";
import { withBlock, withIniValue, withXmlElement } from "./edit-file.ts";

test("a value of an INI file is replaced in its section, and every other line stays", () => {
  assert.equal(withIniValue("", "global", "a = 1"), "[global]\na = 1\n");
  assert.equal(withIniValue("[install]\na = 0\n", "global", "a = 1"), "[install]\na = 0\n\n[global]\na = 1\n");
  assert.equal(withIniValue("[global]\nb = 2\na=0\n[install]\na = 0\n", "global", "a = 1"), "[global]\nb = 2\na = 1\n[install]\na = 0\n");
});

test("a block is appended once and replaced afterwards", () => {
  const once = withBlock("mine", "uv", "first $&");
  assert.equal(once, "mine\n# holt uv: begin\nfirst $&\n# holt uv: end\n");
  assert.equal(withBlock(once, "uv", "second"), "mine\n# holt uv: begin\nsecond\n# holt uv: end\n");
});

test("an element is inserted into its parent, which is created if it is missing", () => {
  const empty = "<settings>\n</settings>\n";
  const once = withXmlElement(empty, "servers", "<server/>");
  assert.match(once, /<servers>\s*<server\/>\s*<\/servers>\s*<\/settings>/);
  assert.equal(withXmlElement(once, "servers", "<server/>"), once);
});

test("a difference shows the changed lines with two lines around them", () => {
  const shown = diff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\nfour\n5\n6\n").map(({ sign, text }) => `${sign}${text}`);
  assert.deepEqual(shown, [" 2", " 3", "-4", "+four", " 5", " 6"]);
});
