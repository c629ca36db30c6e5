import assert from "node:assert/strict";
import { test } from "node:test";
import { parseApkVersion } from "./apk.ts";

const END = parseApkVersion("1").at(-1)?.kind;

function isComplete(text: string): boolean {
  return parseApkVersion(text).at(-1)?.kind === END;
}

test("an apk version consists of digits, a letter, suffixes, a commit and a revision, in this order", () => {
  for (const text of ["1", "1.2.3", "1.2a", "1_pre2", "1a_rc_p3", "1~0af", "1.0b_git1~ff-r3", "1-r0"]) assert.ok(isComplete(text), text);
  for (const text of [
    "",
    "a",
    "1.",
    "1.a",
    "1ab",
    "1a1",
    "1a.1",
    "1_",
    "1_foo",
    "1_1_alpha",
    "1_post1",
    "1~",
    "1~xy",
    "1~ff_p1",
    "1-r",
    "1-1",
    "1-r1-r2",
    "1-r1.2",
  ])
    assert.ok(!isComplete(text), text);
});
