import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ApkPart, compareApkParts, compareApkVersions, isApkVersion, parseApkVersion } from "./apk.ts";

/** Alpine's own cases, where they lie beside this repository. */
const published = fileURLToPath(new URL("../../../../../../shared/data/versions/apk.txt", import.meta.url));
const SIGNS: Readonly<Record<string, number>> = { "<": -1, "=": 0, ">": 1 };

test("a version of apk is digits, a letter, suffixes, a commit and a revision, in this order", () => {
  for (const text of ["1", "1.2.3", "1.2a", "1_pre2", "1a_rc_p3", "1~0af", "1.0b_git1~ff-r3", "1-r0"])
    assert.ok(isApkVersion(parseApkVersion(text)), text);
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
    "1_post1",
    "1~",
    "1~xy",
    "1~ff_p1",
    "1-r",
    "1-1",
    "1-r1-r2",
    "1-r1.2",
  ])
    assert.ok(!isApkVersion(parseApkVersion(text)), text);
});

test("Alpine's published cases hold", { skip: !existsSync(published) && "they are not beside this repository" }, () => {
  let count = 0;
  for (const line of readFileSync(published, "utf8").split("\n")) {
    const [a = "", sign, b = ""] = line
      .replace(/\s*#.*/, "")
      .trim()
      .split(/\s+/);
    if (line.trim() === "") continue;
    count++;
    if (sign === undefined) assert.equal(isApkVersion(parseApkVersion(a.replace("!", ""))), !a.startsWith("!"), line);
    else assert.equal(holds(a, sign, b), true, line);
  }
  assert.ok(count > 700);
});

/** `~`: begins as the other does; `!` denies. */
function holds(a: string, sign: string, b: string): boolean {
  if (sign.startsWith("!")) return !holds(a, sign.slice(1), b);
  const beginsAs = compareApkParts(cut(parseApkVersion(a), parseApkVersion(b).length), parseApkVersion(b)) === 0;
  return [...sign].some((each) => (each === "~" ? beginsAs : Math.sign(compareApkVersions(a, b) ?? 9) === SIGNS[each]));
}

function cut(parts: readonly ApkPart[], length: number): readonly ApkPart[] {
  const end = parseApkVersion("0").slice(-1);
  return parts.length <= length ? parts : [...parts.slice(0, length - 1), ...end];
}
