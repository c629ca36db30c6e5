import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../../../test/harness/property.ts";
import { compareVersions } from "./compare.ts";

/** Versions of each type, ascending. Versions that are equal in their ecosystem share a string, separated by spaces. */
const chains: Readonly<Record<string, readonly string[]>> = {
  apk: [
    ...["0.1_alpha", "0.1_alpha2", "0.1_alpha10", "0.1_beta", "0.1_pre1", "0.1_rc_alpha", "0.1_rc", "0.1_rc_cvs", "0.1 00.1"],
    ...["0.1-r1", "0.1-r2", "0.1-r10", "0.1~12ab", "0.1~12ab-r1", "0.1~2", "0.1_cvs", "0.1_svn", "0.1_git", "0.1_git20240102"],
    ...["0.1_hg", "0.1_p", "0.1_p1_pre2", "0.1_p1", "0.1_p2", "0.1a", "0.1a-r3", "0.1b_alpha", "0.1b", "0.1.0", "0.1.0015", "0.1.002"],
    ...["0.1.01", "0.1.1", "0.1.2", "0.1.10", "0.2!", "0.2", "1.0bc", "1.0b", "2", "10", "123456789012345678901234567890"],
  ],
  deb: [
    ...[
      "1~~",
      "1~~a",
      "1~",
      "1~beta",
      "1~rc1",
      "1 0:1 1-0 00:01",
      "1-0ubuntu1",
      "1-1~bpo12+1",
      "1-1",
      "1-1+b1",
      "1-1.1",
      "1-10",
      "1-ubuntu1",
    ],
    ...[
      "1a",
      "1a-1",
      "1b",
      "1+1",
      "1-1-1",
      "1.0",
      "1.0-1",
      "1.0a",
      "1.0+a",
      "1.0.0",
      "1.0.1~",
      "1.0.9",
      "1.0.10 1.0.010",
      "1.z",
      "2:0.1",
      "10:0",
    ],
  ],
  rpm: [
    ...["1~", "1~a", "1~1 1~01", "1 0:1 00:001", "1-0", "1-1~1", "1-1", "1-1^1", "1-1a", "1-1.el9", "1-1.1", "1-2.el8", "1-10.el8"],
    ...[
      "1^~1",
      "1^",
      "1^a",
      "1^20240102",
      "1a",
      "1xyz",
      "1.0~rc1",
      "1.0~rc1^2",
      "1.0 1..0 1_0",
      "1.0^",
      "1.0a",
      "1.0.1 1.0.1_ 1.0+1",
      "1.0010",
    ],
    ...["1.011", "2.0", "2.0.1", "2.0.1a", "10xyz", "10.0001 10.1", "20101121", "1:0.1-1", "2:0"],
  ],
  npm: [
    ...["0.0.0-0", "0.0.0", "0.9.9", "1.0.0-0", "1.0.0-9", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"],
    ...["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1 1.0.0-rc.1+build.5", "1.0.0 1.0.0+1 1.0.0+2", "1.0.1", "1.2.0", "1.10.0", "2.0.0"],
  ],
  golang: [
    ...["v0.0.0-20170101000000-0123456789ab", "v0.0.0-20230101000000-0123456789ab", "v0.1.0-rc.1 0.1.0-rc.1", "v1 1.0 v1.0.0"],
    ...["v1.0.1-0.20240101000000-abcdefabcdef", "1.0.1", "1.21.0", "v1.21.3", "v2.0.0+incompatible v2.0.0"],
  ],
  cargo: ["0.1.0-alpha.0", "0.1.0", "0.1.1", "0.10.0", "1.0.0-beta", "1.0.0"],
  pypi: [
    ...["0.9", "1.dev0 1.0.dev", "1.0a1.dev1", "1.0a1 1.0alpha1 v1-a.1", "1.0b2", "1.0rc1 1.0c1", "1 1.0 1.0.0", "1.0+abc", "1.0+abc.5"],
    ...["1.0+5", "1.0.post1.dev2", "1.0.post1 1.0-1", "1.0.1", "1.1", "1.10", "2012.10", "1!0.1"],
  ],
  maven: [
    ...[
      "1-alpha-1 1.0-alpha1 1-a1",
      "1-beta",
      "1.0-b2",
      "1-m3",
      "1-cr1 1-rc1",
      "1-SNAPSHOT",
      "1 1.0 1-ga 1.0.0.Final",
      "1-sp",
      "1-xyz",
      "1-1",
    ],
    ...["1.0.1", "1.1", "2-1", "2.0.1-jre", "10"],
  ],
};

for (const [type, chain] of Object.entries(chains)) {
  test(`compareVersions orders ${type} versions as their ecosystem does`, () => {
    const groups = chain.map((group) => group.split(" "));
    for (const [index, group] of groups.entries())
      for (const [other, versions] of groups.entries())
        for (const a of group)
          for (const b of versions) assert.equal(Math.sign(compareVersions(type, a, b) ?? 9), Math.sign(index - other), `${a} and ${b}`);
  });

  test(`the order of ${type} versions is antisymmetric and transitive for arbitrary texts`, () => {
    const part = fc.constantFrom(..."0 1 9 10 01 a b rc z alpha _p _pre -r1 - . ~ ^ + : _ ! dev post v sp".split(" "));
    const version = fc
      .tuple(fc.constantFrom("0", "1", "1.0", "1.0.0"), fc.array(part, { maxLength: 6 }))
      .map((parts) => parts.flat().join(""));
    fc.assert(
      fc.property(version, version, version, (...versions) => {
        const comparable = versions.filter((each) => compareVersions(type, each, each) !== undefined);
        for (const a of comparable) {
          assert.equal(compareVersions(type, a, a), 0);
          for (const b of comparable) {
            const order = compareVersions(type, a, b) ?? assert.fail(`${a} and ${b} cannot be compared`);
            assert.equal(Math.sign(order), -Math.sign(compareVersions(type, b, a) ?? 9) + 0, `${a} and ${b}`);
            for (const c of comparable) {
              if (order > 0 || (compareVersions(type, b, c) ?? 9) > 0) continue;
              const both = order < 0 || (compareVersions(type, b, c) ?? 9) < 0;
              assert.ok((compareVersions(type, a, c) ?? 9) <= (both ? -Number.MIN_VALUE : 0), `${a}, ${b}, ${c}`);
            }
          }
        }
      }),
      { numRuns: 2000 },
    );
  });
}

test("compareVersions returns undefined for invalid versions and unknown types", () => {
  const texts = {
    apk: ["", "a", "-r1", ".1", "_pre1"],
    deb: ["", "1 2", "a:1", "1_2", "1-"],
    rpm: ["", "1-2-3", "x:1", "1 2"],
    npm: ["", "01.0.0", "1.0.0-01", "1.0.0-", "1.0.0.0", "latest", "^1.0.0"],
    golang: ["", "(devel)", "go1.21", "v1.2.3.4"],
    cargo: ["", "*", "1.0.0-α"],
    pypi: ["", "1.x", "latest"],
    maven: [""],
    gem: ["", "1.0"],
    "": ["1.0"],
  };
  for (const [type, versions] of Object.entries(texts))
    for (const version of versions) assert.equal(compareVersions(type, version, "1.0"), undefined, `${type} "${version}"`);
  for (const type of Object.keys(chains)) assert.equal(compareVersions(type, "1".repeat(256), "1"), undefined);
});

test("compareVersions compares numbers of any size and takes no excessive time on long texts", () => {
  for (const type of Object.keys(chains)) {
    const big = "9".repeat(50);
    assert.ok((compareVersions(type, `1.${big}8.0`, `1.${big}9.0`) ?? 9) < 0, type);
    for (const part of ["1", "1-", "a1", "~", "1.", "-", "a-", "0", "1_p"])
      compareVersions(type, `1${part.repeat(80)}`.slice(0, 255), `1${part.repeat(79)}!`.slice(0, 255));
  }
});
