import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePythonVersion } from "./python.ts";

/** The order of PEP 440 versions in the tests of `packaging`. */
const ORDERED = [
  ...["1.0.dev456", "1.0a1", "1.0a2.dev456", "1.0a12.dev456", "1.0a12", "1.0b1.dev456", "1.0b2", "1.0b2.post345.dev456", "1.0b2.post345"],
  ...["1.0b2-346", "1.0c1.dev456", "1.0c1", "1.0rc2", "1.0c3", "1.0", "1.0.post456.dev34", "1.0.post456", "1.1.dev1", "1.2+123abc"],
  ...["1.2+123abc456", "1.2+abc", "1.2+abc123", "1.2+abc123def", "1.2+1234.abc", "1.2+123456", "1.2.r32+123456", "1.2.rev33+123456"],
  ...["1!1.0.dev456", "1!1.0a1", "1!1.0b2.post345", "1!1.0", "1!1.0.post456", "1!1.2+123456", "1!1.2.rev33+123456"],
];

test("parsePythonVersion returns sort keys in the order of PEP 440", () => {
  const keys = ORDERED.map((version) => parsePythonVersion(version)?.sortKey ?? assert.fail(version));
  assert.deepEqual(keys.toSorted(), keys);
  assert.equal(new Set(keys).size, keys.length);
});

test("parsePythonVersion normalizes all spellings of a version", () => {
  const spellings: Record<string, string[]> = {
    "1.0rc1": ["1.0c1", "1.0-preview_1", "v1.0.pre.1", "1.0RC1", " 1.0rc01 "],
    "1.0.post1": ["1.0-1", "1.0r1", "1.0.rev1", "1.0_post1"],
    "1.0.dev0": ["1.0dev", "1.0-dev0"],
    "2!1.0+ubuntu.1": ["2!1.0+ubuntu-1", "2!1.0+Ubuntu_01"],
  };
  for (const [normalized, others] of Object.entries(spellings))
    for (const other of others) assert.equal(parsePythonVersion(other)?.normalized, normalized, other);
  assert.equal(parsePythonVersion("1.0.0")?.sortKey, parsePythonVersion("1")?.sortKey);
});

test("parsePythonVersion returns undefined for invalid versions of any length", () => {
  for (const text of [
    "",
    "abc",
    "1.0.x",
    "1..2",
    "1.0+",
    "1.0+a..b",
    "1 .0",
    "1.0-",
    "9".repeat(61),
    "1.".repeat(5000),
    `1+${"a".repeat(500)}`,
  ])
    assert.equal(parsePythonVersion(text), undefined, text.slice(0, 20));
});

test("parsePythonVersion recognizes pre-releases and local labels", () => {
  const isPreRelease = (version: string) => parsePythonVersion(version)?.isPreRelease;
  assert.deepEqual(["1.0a1", "1.0.dev1", "1.0.post1.dev2", "1.0", "1.0.post1", "1.0+a1"].map(isPreRelease), [
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
  assert.deepEqual(parsePythonVersion("2.3.1+cu121.2")?.local, ["cu121", "2"]);
});
