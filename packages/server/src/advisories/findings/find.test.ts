import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventKind, PublishedAdvisory, PublishedEvent } from "../export/published-advisory.ts";
import { encodeAffected, NEVER_AFFECTED_NOTE, parseAffected, type RangeEvent } from "../model/affected.ts";
import type { Candidate } from "./assessment.ts";
import { type Assessments, collectAssessments, findingsOf, severityOfScores, withScores } from "./find.ts";

const ORG = "a".repeat(40);
const PUBLIC = "b".repeat(40);

interface Given {
  readonly id?: string;
  readonly aliases?: readonly string[];
  readonly root?: string;
  readonly events?: readonly (readonly [kind: EventKind, detail?: string])[];
  /** Ecosystem → range. */
  readonly ranges?: Readonly<Record<string, readonly RangeEvent[]>>;
  readonly distribution?: string;
}

function candidate({
  id = "CVE-1",
  aliases = [],
  root = ORG,
  events = [["truePositiveDetermination"]],
  ranges,
  distribution,
}: Given): Candidate {
  const published = events.map(
    ([kind, detail = ""], index): PublishedEvent => ({
      time: `2024-01-0${index + 1}T00:00:00.000Z`,
      kind,
      note: kind === "falsePositiveDetermination" ? detail : "",
      versions: kind === "fixed" || kind === "patched" ? [detail] : [],
      reason: kind === "falsePositiveDetermination" ? "VULNERABLE_CODE_NOT_IN_EXECUTION_PATH" : "",
    }),
  );
  const advisory = {
    uid: `${root}/1`,
    advisoryId: id,
    aliases,
    events: published,
    latest: published.at(-1),
  } as unknown as PublishedAdvisory;
  const entries = Object.entries(ranges ?? {}).map(([ecosystem, given]) => ({
    ecosystem,
    ranges: [{ isSemver: false, events: given }],
    versions: [],
  }));
  const affected = ranges && { entries: parseAffected(encodeAffected(entries)), modifiedTime: "2024-01-01T12:00:00.000Z" };
  return { advisory, affected, distribution };
}

function find(version: string, candidates: readonly Given[], { type = "apk", distribution = "wolfi 20230201" } = {}) {
  const assessments: Assessments = new Map();
  for (const given of candidates) collectAssessments({ type, version, distribution }, candidate(given), assessments);
  const findings = [...findingsOf(assessments, ORG)].filter((finding) => finding !== undefined);
  return findings.map(({ vulnerability, detail: { fixed, fixState, suppression } }) =>
    [vulnerability, fixState, ...fixed, ...(suppression === undefined ? [] : [suppression.status])].join(" "),
  );
}

const until = (fixed: string): readonly RangeEvent[] => [
  ["introduced", "0"],
  ["fixed", fixed],
];

test("an advisory without ranges affects the versions before its fix", () => {
  const given = [{ events: [["truePositiveDetermination"], ["fixed", "1.2-r0"]] as const }];
  assert.deepEqual(find("1.1-r3", given), ["CVE-1 fixed 1.2-r0"]);
  assert.deepEqual(find("1.2-r0", given), []);
});

test("an advisory without a fix affects all versions, and says whether a fix is planned", () => {
  assert.deepEqual(find("1", [{}]), ["CVE-1 not_fixed"]);
  assert.deepEqual(find("1", [{ events: [["detection"]] }]), ["CVE-1 unknown"]);
  assert.deepEqual(find("1", [{ events: [["truePositiveDetermination"], ["fixNotPlanned"]] }]), ["CVE-1 wont_fix"]);
});

test("a false positive suppresses what the same advisory found, and says nothing by itself", () => {
  assert.deepEqual(find("1", [{ events: [["falsePositiveDetermination", "why"]] }]), []);
  assert.deepEqual(find("1", [{ events: [["detection"], ["falsePositiveDetermination", "why"]] }]), ["CVE-1 unknown not_affected"]);
  assert.deepEqual(find("1", [{ events: [["falsePositiveDetermination"], ["truePositiveDetermination"]] }]), ["CVE-1 not_fixed"]);
});

test("a statement of the organization suppresses what a public advisory with an alias found", () => {
  const found = { id: "GHSA-1", aliases: ["CVE-1"], root: PUBLIC, ranges: { Wolfi: until("2") } };
  assert.deepEqual(find("1", [found]), ["CVE-1 fixed 2"]);
  assert.deepEqual(find("1", [found, { events: [["falsePositiveDetermination", "why"]] }]), ["CVE-1 fixed 2 not_affected"]);
  assert.deepEqual(find("1", [found, { events: [["fixed", "1"]] }]), ["CVE-1 fixed 2 fixed"]);
  assert.deepEqual(find("1", [found, { events: [["patched", "1"]] }]), ["CVE-1 fixed 2 fixed"]);
});

test("a public statement does not suppress what the organization's own advisory says", () => {
  const statement = { root: PUBLIC, events: [["falsePositiveDetermination", "why"]] as const };
  assert.deepEqual(find("1", [{}, statement]), ["CVE-1 not_fixed"]);
  assert.deepEqual(find("1", [{ root: PUBLIC }, statement]), ["CVE-1 not_fixed not_affected"]);
});

test("the ranges of a record decide, not the events that its import added", () => {
  const ranges = {
    Wolfi: [
      ["introduced", "0"],
      ["fixed", "1.5"],
      ["introduced", "2"],
      ["fixed", "2.5"],
    ] as const,
  };
  const events = [
    ["fixed", "1.5"],
    ["fixed", "2.5"],
  ] as const;
  const imported = { ranges, events: events.slice(0, 1) };
  assert.deepEqual(find("2.1", [imported]), ["CVE-1 fixed 2.5"]);
  assert.deepEqual(find("1.9", [imported]), []);
});

test("a fix that the owner adds after the import counts", () => {
  const given = { ranges: { Wolfi: until("2") }, events: [["truePositiveDetermination"], ["fixed", "1.8"]] as const };
  assert.deepEqual(find("1.7", [given]), ["CVE-1 fixed 2"]);
  assert.deepEqual(find("1.8", [given]), ["CVE-1 unknown fixed"]);
});

test("the ranges of an image's own distribution and release count", () => {
  const ranges = { "Alpine:v3.21": until("1.2-r0"), "Alpine:v3.22": until("1.3-r0"), "Debian:12": until("9") };
  assert.deepEqual(find("1.2-r0", [{ ranges }], { distribution: "alpine 3.21.4" }), []);
  assert.deepEqual(find("1.2-r0", [{ ranges }], { distribution: "alpine 3.22.1" }), ["CVE-1 fixed 1.3-r0"]);
  assert.deepEqual(find("1.2-r0", [{ ranges }], { distribution: "alpine 3.2" }), []);
});

test("the marker of a range without versions does not suppress the ranges of other releases", () => {
  const ranges = { "Alpine:v3.21": until("0"), "Alpine:v3.22": until("1.3-r0") };
  const events = [["truePositiveDetermination"], ["falsePositiveDetermination", NEVER_AFFECTED_NOTE]] as const;
  assert.deepEqual(find("1.2-r0", [{ ranges, events }], { distribution: "alpine 3.22.1" }), ["CVE-1 fixed 1.3-r0"]);
  assert.deepEqual(find("1.2-r0", [{ ranges, events }], { distribution: "alpine 3.21.1" }), []);
});

test("an advisory below a group that is named after a distribution is about its packages only", () => {
  const given = { distribution: "alpine", events: [["fixed", "2"]] as const };
  assert.deepEqual(find("1", [given], { distribution: "alpine 3.22" }), ["CVE-1 fixed 2"]);
  assert.deepEqual(find("1", [given], { distribution: "wolfi 20230201" }), []);
  assert.deepEqual(find("1", [given], { distribution: "" }), ["CVE-1 fixed 2"]);
});

test("a fix in one release of an RPM distribution says nothing about another", () => {
  const given = {
    events: [
      ["fixed", "1.1-3.el8"],
      ["fixed", "1.2-5.el9"],
    ] as const,
  };
  const rpm = { type: "rpm", distribution: "rhel 9.4" };
  assert.deepEqual(find("1.2-4.el9", [given], rpm), ["CVE-1 fixed 1.2-5.el9"]);
  assert.deepEqual(find("1.2-5.el9", [given], rpm), []);
  assert.deepEqual(find("1.0-1.el10", [given], rpm), []);
});

test("an advisory about several CVEs opens each of them", () => {
  const dsa = { id: "DSA-1", aliases: ["CVE-1", "CVE-2"] };
  assert.deepEqual(find("1", [dsa, { id: "CVE-2", events: [["fixed", "1"]] }], { type: "deb" }), [
    "CVE-1 not_fixed",
    "CVE-2 not_fixed fixed",
  ]);
});

test("advisories under another id join the CVE of which it is an alias", () => {
  assert.deepEqual(
    find("1", [
      { id: "GHSA-1", events: [["fixed", "3"]] },
      { id: "GO-1", aliases: ["CVE-1", "GHSA-1"] },
    ]),
    ["CVE-1 fixed 3"],
  );
});

test("advisories under another id join the GHSA of which it is an alias where no CVE is known", () => {
  const pysec = { id: "PYSEC-1", events: [["fixed", "3"]] } as const;
  const ghsa = { id: "GHSA-1", aliases: ["PYSEC-1"] };
  assert.deepEqual(find("1", [pysec, ghsa]), ["GHSA-1 fixed 3"]);
  assert.deepEqual(find("1", [ghsa, pysec]), ["GHSA-1 fixed 3"]);
});

test("an alias of an alias joins the CVE", () => {
  const advisories = [
    { id: "PYSEC-1", events: [["fixed", "3"]] },
    { id: "GHSA-1", aliases: ["PYSEC-1"] },
    { id: "CVE-1", aliases: ["GHSA-1"] },
  ] as const;
  assert.deepEqual(find("1", advisories), ["CVE-1 fixed 3"]);
});

test("the severity follows from the scores of the vulnerability itself, version 3 before version 2", () => {
  const v3 = { type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" };
  const v2 = { type: "TYPE_CVSS_V2", score: "AV:N/AC:M/Au:N/C:P/I:N/A:N" };
  assert.equal(severityOfScores([v2, v3]), 6);
  assert.equal(severityOfScores([v2]), 4);
  assert.equal(severityOfScores([]), 1);
  const detail = { advisories: [], aliases: ["CVE-2", "GHSA-1"], fixState: "unknown", fixed: [] } as const;
  const scores = new Map([
    ["GHSA-1", [v2]],
    ["CVE-2", [v3]],
  ]);
  assert.equal(withScores({ vulnerability: "CVE-1", detail }, (id) => scores.get(id) ?? []).severity, 4);
});

test("versions of distributions are affected as Grype 0.79.6 finds them in images with the same records", () => {
  const places = { deb: ["Debian:12", "debian 12"], apk: ["Wolfi", "wolfi 20230201"] } as const;
  const cases: readonly (readonly [type: "deb" | "apk", version: string, introduced: string, end: RangeEvent, isAffected: boolean])[] = [
    ["deb", "2.38.1-5+deb12u3", "0", ["last_affected", "1:2.38.1-6+deb12u2"], true],
    ["deb", "1.14.10-1~deb12u1", "0", ["fixed", "1.14.10-1~deb12u2"], true],
    ["deb", "1.14.10-1~deb12u1", "1.14.10-1~deb12u1", ["fixed", "1.21.22"], true],
    ["deb", "1:5.0-5", "0", ["fixed", "1:6.0-6"], true],
    ["deb", "1.2.6-5+deb12u1", "0.2.6-5+deb12u1", ["fixed", "1.3.6-5+deb12u1"], true],
    ["deb", "2.2.40-1.1+deb12u2", "0", ["fixed", "10.42-1"], true],
    ["deb", "2.2.40-1.1+deb12u2", "0", ["fixed", "3.2.41-1.1+deb12u2"], true],
    ["deb", "20220623.1-1+deb12u2", "0", ["fixed", "20220623.1-2+deb13u2"], true],
    ["deb", "12.2.0-14+deb12u1", "11.2.1-15+deb12u1", ["fixed", "12.3.0-14+deb12u1"], true],
    ["deb", "12.4+deb12u11", "0", ["last_affected", "12.3+deb12u11"], false],
    ["deb", "12.2.0-14+deb12u1", "0", ["fixed", "12.1.0-13+deb12u2"], false],
    ["deb", "2023.3+deb12u2", "0", ["fixed", "1.74.0-3"], false],
    ["deb", "1.2.6-5+deb12u1", "1.1.6-5+deb12u0", ["fixed", "1.2.6-5+deb11u1"], false],
    ["deb", "2.2.40-1.1+deb12u2", "0", ["fixed", "1.2.41-1.1+deb12u3"], false],
    ["deb", "72.1-3+deb12u1", "0", ["last_affected", "72.1-3+deb11u2"], false],
    ["deb", "1:2.5.1-4", "0", ["fixed", "1:1.5.1-4+b2"], false],
    ["deb", "0.8-10+deb12u1", "0", ["last_affected", "0.7-10+deb12u1"], false],
    ["deb", "2.36-9+deb12u14", "0", ["last_affected", "2.36-9+deb12u13"], false],
    ["apk", "1.36.1-r30", "0", ["fixed", "7.4_p2-r1"], true],
    ["apk", "1.2.5-r9", "0", ["fixed", "1.3.5-r9"], true],
    ["apk", "5.2.26-r0", "0", ["last_affected", "3.12.6_alpha1-r0"], false],
  ];
  for (const [type, version, introduced, end, isAffected] of cases) {
    const [ecosystem, distribution] = places[type];
    const found = find(version, [{ ranges: { [ecosystem]: [["introduced", introduced], end] } }], { type, distribution });
    assert.equal(found.length === 1, isAffected, `${version} ${introduced} ${JSON.stringify(end)}`);
  }
});
