import assert from "node:assert/strict";
import { test } from "node:test";
import { type Affected, encodeAffected, fixesFor, parseAffected, type RangeEvent, versionsOutside } from "./affected.ts";

const entry = (events: readonly RangeEvent[], rest: Partial<Affected> = {}): Affected => ({
  ecosystem: "",
  ranges: [{ isSemver: false, events }],
  versions: [],
  ...rest,
});

test("a version is affected from its introduction until the fix", () => {
  const one = entry([
    ["introduced", "0"],
    ["fixed", "1.2.0"],
  ]);
  assert.deepEqual(fixesFor("npm", "1.1.9", one), ["1.2.0"]);
  assert.equal(fixesFor("npm", "1.2.0", one), undefined);
});

test("the fix of a version is that of its own branch, whatever the order of the events", () => {
  const branches = entry([
    ["fixed", "2.0.3"],
    ["introduced", "2.0.0"],
    ["fixed", "1.0.5"],
    ["introduced", "0"],
  ]);
  assert.deepEqual(fixesFor("npm", "1.0.0", branches), ["1.0.5"]);
  assert.deepEqual(fixesFor("npm", "2.0.1", branches), ["2.0.3"]);
  for (const version of ["1.0.5", "1.9.0", "2.0.3", "3.0.0"]) assert.equal(fixesFor("npm", version, branches), undefined, version);
});

test("the last affected version is affected, and has no known fix", () => {
  const one = entry([
    ["introduced", "1.0"],
    ["last_affected", "1.4"],
  ]);
  assert.deepEqual(fixesFor("pypi", "1.4", one), []);
  assert.equal(fixesFor("pypi", "1.4.1", one), undefined);
  assert.equal(fixesFor("pypi", "0.9", one), undefined);
});

test("ranges compare by the order of the package's ecosystem", () => {
  const one = entry([
    ["introduced", "0"],
    ["fixed", "3.0.10-r0"],
  ]);
  assert.deepEqual(fixesFor("apk", "3.0.9-r4", one), ["3.0.10-r0"]);
  const deb = entry([
    ["introduced", "0"],
    ["fixed", "1:1.0-2"],
  ]);
  assert.deepEqual(fixesFor("deb", "9.0-1", deb), ["1:1.0-2"]);
});

test("versions without a known order are affected if they are listed, or if the range is one of semantic versions", () => {
  const listed = entry([], { ranges: [], versions: ["1.0", "1.1"] });
  assert.deepEqual(fixesFor("gem", "1.1", listed), []);
  assert.equal(fixesFor("gem", "1.2", listed), undefined);
  const semver = {
    ...listed,
    ranges: [{ isSemver: true, events: [["introduced", "0"] as const, ["fixed", "1.3.0"] as const] }],
    versions: [],
  };
  assert.deepEqual(fixesFor("hex", "1.2.9", semver), ["1.3.0"]);
  const unordered = entry([
    ["introduced", "0"],
    ["fixed", "2"],
  ]);
  assert.equal(fixesFor("gem", "1", unordered), undefined);
});

test("listed versions are kept if no range contains them, or if they cannot be compared", () => {
  const events: readonly RangeEvent[] = [
    ["introduced", "1"],
    ["fixed", "2"],
    ["introduced", "3"],
    ["last_affected", "4"],
  ];
  const listed = ["0.9", "1", "1.9", "2", "2.5", "3", "4", "4.1", "not-a-version"];
  assert.deepEqual(versionsOutside("pypi", [{ isSemver: false, events }], listed), ["0.9", "2", "2.5", "4.1", "not-a-version"]);
  assert.deepEqual(versionsOutside("gem", [{ isSemver: false, events }], listed), listed);
  assert.deepEqual(versionsOutside("pypi", [{ isSemver: false, events: [...events, ["fixed", "?"]] }], listed), listed);
});

test("encoded affected versions are parsed to the same", () => {
  const entries = [
    entry([
      ["introduced", "0"],
      ["fixed", "1"],
    ]),
    entry([], { ecosystem: "Alpine:v3.22", ranges: [], versions: ["1", "2"] }),
  ];
  assert.deepEqual(parseAffected(encodeAffected(entries)), entries);
});
