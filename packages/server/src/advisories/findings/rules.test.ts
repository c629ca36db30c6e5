/** Notices changes of the rules of the comparison, so that none is released without a new version of the rules. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { compareVersions } from "../../lib/version-order/compare.ts";
import type { PublishedAdvisory } from "../export/published-advisory.ts";
import { assess } from "./assessment.ts";
import { appliesTo } from "./distributions.ts";
import { RULES_VERSION } from "./rules.ts";

/** The version of the rules, and a digest of their results for the examples below. */
const DIGEST = "4 84946061d82c8d7c";

const types = ["apk", "deb", "rpm", "npm", "golang", "cargo", "pypi", "maven", "gem", "generic"];

const versions = [
  ..."0 1 1.0 1.0.0 01.0 1.2 1.10 1.2.3 v1.2.3 1.2.3-r0 1.2.3-r10 1.2_alpha1 1.2_p1 1.2a 1.2-1 1.2-1ubuntu2 1.2-1~deb12u1".split(" "),
  ..."1:1.0 2:0.1-1 1.2-3.el8 1.2-3.el9_4 1.2-3.fc40 1.2~rc1 1.2^git1 1.2.3-rc.1 1.2.3-rc.1+build 1.2.3+build".split(" "),
  ..."1.0a1 1.0.post1 1.0.dev2 1!0.5 1.0-SNAPSHOT 1.0-alpha-1 1.0.Final 1.0-ga 1.0-sp1 1.0-jre not+a+version".split(" "),
];

const ecosystems = [
  ..."Alpine Alpine:v3.2 Alpine:v3.22 Debian:12 Wolfi Chainguard Ubuntu:22.04:LTS Ubuntu:Pro:22.04:LTS AlmaLinux:9".split(" "),
  ..."Mageia:9 npm openSUSE:Tumbleweed".split(" "),
  "Rocky Linux:9",
  "Red Hat:enterprise_linux:9",
  "Azure Linux:3",
  "Photon OS:5.0",
  "SUSE:Linux Enterprise Server 15",
  "SUSE:Linux Enterprise Server 15 SP5",
  "openSUSE:Leap 15.6",
  "openEuler:22.03-LTS",
];

const distributions = [
  "",
  "alpine 3.2.1",
  "alpine 3.22.1",
  "debian 12",
  "wolfi 20230201",
  "ubuntu 22.04",
  "almalinux 9.4",
  "mageia 9",
  "rocky 9.4",
  "rhel 9.4",
  "mariner 3",
  "photon 5.0",
  "sles 15.5",
  "sles 15.6",
  "opensuse-leap 15.6",
  "opensuse-tumbleweed 20240101",
  "openEuler 22.03",
];

/** The results of pairs of versions, as one character each. */
function orderOf(type: string): string {
  const results = versions.flatMap((a) => versions.map((b) => compareVersions(type, a, b)));
  return results.map((result) => (result === undefined ? "?" : "<=>"[Math.sign(result) + 1])).join("");
}

function assessmentsOf(type: string): unknown[] {
  return versions.flatMap((fixed) =>
    versions.map((version) => {
      const events = [{ time: "2024-01-01T00:00:00.000Z", kind: "fixed", note: "", versions: [fixed], reason: "" }];
      const advisory = { uid: "1", advisoryId: "CVE-1", aliases: [], events, latest: events[0] } as unknown as PublishedAdvisory;
      const assessment = assess({ advisory, affected: undefined, distribution: undefined }, { type, version, distribution: "" });
      return assessment?.kind ?? "";
    }),
  );
}

test("a change of what the comparison finds comes with a new version of its rules", () => {
  const results = {
    orders: types.map(orderOf),
    assessments: types.map(assessmentsOf),
    releases: ecosystems.map((ecosystem) => distributions.map((distribution) => appliesTo(ecosystem, distribution))),
  };
  const digest = createHash("sha256").update(JSON.stringify(results)).digest("hex").slice(0, 16);
  assert.equal(
    `${RULES_VERSION} ${digest}`,
    DIGEST,
    "the comparison finds something else: increase RULES_VERSION in rules.ts, and update this digest. " +
      "After a change of the examples alone, update the digest alone",
  );
});
