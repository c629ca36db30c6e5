/** The advisories and vulnerabilities that each format is imported as. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SecurityAdvisoryService } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { CSAF, CVE, OPENVEX, osv, SECDB, WOLFI, WOLFI_V1 } from "../../harness/advisories/import-samples.ts";
import { advisoriesOf, importFile, importJson, summaryOf } from "../../harness/advisories/import-world.ts";
import { tarGzOf, zipOf } from "../../harness/libraries/python-packages.ts";
import { describeWithWorld, type World } from "../../harness/world.ts";

describeWithWorld("imported formats", (world) => {
  const T = (day: string) => `2026-${day}T00:00:00.000Z`;

  async function advisoriesAfter(runImport: (parent: string) => Promise<{ readonly problems: readonly unknown[] }>) {
    const parent = await world.group(world.orgUid);
    const { problems } = await runImport(parent);
    assert.deepEqual(problems, []);
    const { advisories, total } = await advisoriesOf(world, parent);
    assert.equal(total, advisories.length);
    return advisories.map(summaryOf).sort((a, b) => (a.about < b.about ? -1 : 1));
  }

  test("advisories of Wolfi keep their ids, aliases and history", async () => {
    assert.deepEqual(await advisoriesAfter((parent) => importFile(world, "example-server.advisories.yaml", WOLFI, { parent })), [
      {
        about: "CGA-2222-3333-4444 apk/example-server",
        aliases: ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc"],
        events: [
          ["detection", "", "", "2026-01-02T03:04:05.000Z"],
          ["truePositiveDetermination", "", "it is so", T("01-03")],
          ["fixed", "1.2.3-r0", "", T("01-04")],
        ],
      },
      {
        about: "CGA-2222-3333-5555 apk/example-server",
        aliases: ["CVE-2026-0002"],
        events: [
          ["detection", "", "", T("01-02")],
          ["detection", "", "", T("01-02")],
          ["pendingUpstreamFix", "", "soon", T("01-03")],
          ["fixNotPlanned", "", "never", T("01-04")],
          ["analysisNotPlanned", "", "too old", T("01-05")],
          ["falsePositiveDetermination:5", "", "unused", T("01-06")],
        ],
      },
    ]);
  });

  test("a detection by a scanner keeps its findings", async () => {
    const parent = await world.group(world.orgUid);
    await importFile(world, "a.yaml", WOLFI, { parent });
    const { advisories } = await advisoriesOf(world, parent);
    const detection = advisories.find(({ advisoryId }) => advisoryId.endsWith("4444"))?.events[0]?.type;
    assert.ok(detection?.case === "detection" && detection.value.type.case === "scanv1");
    const { $typeName: _, ...scan } = detection.value.type.value;
    assert.deepEqual(
      Object.entries(scan).filter(([, value]) => value !== ""),
      Object.entries({
        scanner: "grype",
        subpackage: "example-server",
        componentId: "0123456789abcdef",
        component: "example.test/lib",
        componentVersion: "v1.0.0",
        componentType: "go-module",
        componentLocation: "/usr/bin/example",
      }),
    );
  });

  test("the VEX statuses of Wolfi's version 1 become events", async () => {
    assert.deepEqual(await advisoriesAfter((parent) => importFile(world, "tool.yaml", WOLFI_V1, { parent })), [
      {
        about: "CVE-2026-0003 apk/example-tool",
        aliases: ["CVE-2026-0003"],
        events: [
          ["detection", "", "", T("01-01")],
          ["truePositiveDetermination", "", "wait", T("01-02")],
          ["fixed", "2.0", "", T("01-03")],
          ["falsePositiveDetermination:4", "", "gone", T("01-04")],
        ],
      },
    ]);
  });

  test("an OSV record becomes an advisory per package, with the fixed versions of its ranges", async () => {
    assert.deepEqual(await advisoriesAfter((parent) => importJson(world, osv(), { parent })), [
      {
        about: "GHSA-xxxx-yyyy-zzzz deb/node-example",
        aliases: ["GHSA-xxxx-yyyy-zzzz", "CVE-2026-0004"],
        events: [["truePositiveDetermination", "", "", T("01-01")]],
      },
      {
        about: "GHSA-xxxx-yyyy-zzzz npm/@example/pack",
        aliases: ["GHSA-xxxx-yyyy-zzzz", "CVE-2026-0004"],
        events: [
          ["truePositiveDetermination", "", "", T("01-01")],
          ["fixed", "1.2.3", "", T("02-01")],
          ["fixed", "2.0.5", "", T("02-01")],
        ],
      },
    ]);
  });

  test("an OpenVEX statement becomes advisories of its products, or of their components", async () => {
    assert.deepEqual(await advisoriesAfter((parent) => importJson(world, OPENVEX, { parent })), [
      {
        about: "CVE-2026-0005 generic/https://example.test/product",
        aliases: ["CVE-2026-0005"],
        events: [["detection", "", "", T("03-01")]],
      },
      { about: "CVE-2026-0005 maven/org.example:lib", aliases: ["CVE-2026-0005"], events: [["fixed", "3.1", "", T("03-01")]] },
      {
        about: "CVE-2026-0005 oci/example-image",
        aliases: ["CVE-2026-0005", "GHSA-dddd-eeee-ffff"],
        events: [["falsePositiveDetermination:2", "", "it is not in there", T("03-02")]],
      },
    ]);
    const parent = await world.group(world.orgUid);
    await importJson(world, OPENVEX, { parent });
    const { advisories } = await advisoriesOf(world, parent);
    const image = advisories.find(({ artifactType }) => artifactType === "oci");
    assert.deepEqual([image?.artifactArchitecture, image?.componentType, image?.componentName], ["amd64", "apk", "example-lib"]);
  });

  test("CSAF statuses apply to products, product groups and components within products", async () => {
    assert.deepEqual(await advisoriesAfter((parent) => importJson(world, CSAF, { parent })), [
      {
        about: "CVE-2026-0006 generic/Example Server",
        aliases: ["CVE-2026-0006"],
        events: [
          ["truePositiveDetermination", "", "take 4.1", T("04-01")],
          ["fixNotPlanned", "", "take 4.1", T("04-01")],
          ["fixed", "4.1", "", T("04-01")],
        ],
      },
      { about: "CVE-2026-0006 rpm/lib", aliases: ["CVE-2026-0006"], events: [["fixed", "1.5-2", "", T("04-01")]] },
      {
        about: "CVE-2026-0007 generic/Example Server",
        aliases: ["CVE-2026-0007"],
        events: [
          ["falsePositiveDetermination:7", "", "it is guarded", T("04-01")],
          ["falsePositiveDetermination:7", "", "", T("04-01")],
        ],
      },
    ]);
  });

  test("a secdb becomes fixed events, and false positives for version 0", async () => {
    const now = `${world.clock.now().toISOString().slice(0, 19)}.000Z`;
    assert.deepEqual(await advisoriesAfter((parent) => importJson(world, SECDB, { parent })), [
      {
        about: "CVE-2026-0008 apk/example-lib",
        aliases: ["CVE-2026-0008", "GHSA-gggg-hhhh-jjjj"],
        events: [["fixed", "1.0-r1", "", now]],
      },
      { about: "CVE-2026-0009 apk/example-lib", aliases: ["CVE-2026-0009"], events: [["fixed", "1.0-r1", "", now]] },
      {
        about: "CVE-2026-0010 apk/example-lib",
        aliases: ["CVE-2026-0010"],
        events: [["falsePositiveDetermination:2", "", "No version is affected, as the secdb says.", now]],
      },
    ]);
  });

  test("a withdrawn record deletes its advisory", async () => {
    const parent = await world.group(world.orgUid);
    await importJson(world, osv(), { parent });
    assert.equal((await advisoriesOf(world, parent)).total, 2);
    const { updated } = await importJson(world, osv({ withdrawn: "2026-02-02T00:00:00Z" }), { parent });
    assert.equal(updated, 2);
    assert.deepEqual(await advisoriesOf(world, parent), { advisories: [], total: 0 });
  });

  test("archives, lists and JSON lines may mix formats", async () => {
    const lines = [osv({ id: "L-1" }), SECDB, osv({ id: "L-2" })].map((document) => JSON.stringify(document)).join("\n");
    const entries = [
      { name: "wolfi/a.yaml", content: WOLFI },
      { name: "lines", content: `${lines}\n` },
      { name: "list.txt", content: JSON.stringify([CSAF, OPENVEX]) },
      { name: "README.md", content: "# Nothing\n\nIt says: nothing.\n" },
      { name: "two.yml", content: `${WOLFI_V1}---\n${WOLFI_V1.replace("example-tool", "other-tool")}` },
    ];
    for (const archive of [zipOf(entries), zipOf(entries.map((entry) => ({ ...entry, flags: 8 }))), await tarGzOf(entries)]) {
      const parent = await world.group(world.orgUid);
      const { problems, ignored, ...counts } = await importFile(world, "archive", archive, { parent });
      assert.deepEqual([problems, ignored], [[], 1]);
      const { total } = await advisoriesOf(world, parent);
      assert.equal(counts.created, total);
      assert.deepEqual(counts, { read: 19, created: 17, updated: 0, unchanged: 2 });
    }
  });

  test("vulnerabilities keep their texts, web references and scores", async () => {
    await importFile(world, "mix.jsonl", [osv(), CVE].map((document) => JSON.stringify(document)).join("\n"), { kind: "vulnerabilities" });
    assert.deepEqual(await metadata(world, "CVE-2026-0011"), {
      summary: "A title",
      details: "English",
      references: [[6, "https://example.test/patch"]],
      severities: [
        [1, "AV:N/AC:L/Au:N/C:P/I:P/A:P"],
        [2, "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:C/C:L/I:N/A:N"],
      ],
    });
    const { summary, details, severity } = osv();
    assert.deepEqual(await metadata(world, "GHSA-xxxx-yyyy-zzzz"), {
      summary,
      details,
      references: [
        [1, "https://example.test/advisory"],
        [6, "https://example.test/commit/1"],
      ],
      severities: [
        [2, severity[0]?.score],
        [3, severity[1]?.score],
      ],
    });
  });

  test("a reference of an unknown type is a web reference, whatever the type is called", async () => {
    const names = ["constructor", "toString", "__proto__", "1", "advisory"];
    const references = names.map((type) => ({ type, url: `https://example.test/${type}` }));
    await importJson(world, osv({ id: "REF-1", references }), { kind: "vulnerabilities" });
    const expected = names.map((name) => [10, `https://example.test/${name}`]);
    assert.deepEqual((await metadata(world, "REF-1"))?.references, expected);
  });

  test("a CSAF document has the scores, the description and the references of its vulnerabilities", async () => {
    const vulnerability = {
      cve: "CVE-2026-0012",
      title: "A title",
      notes: [
        { category: "general", text: "not this" },
        { category: "description", text: "Described" },
      ],
      references: [{ url: "https://example.test/csaf", summary: "x" }],
      scores: [
        { products: ["A"], cvss_v3: { version: "3.1", vectorString: "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:C/C:L/I:N/A:N", baseScore: 2 } },
        { products: ["B"], cvss_v2: { version: "2.0", vectorString: "AV:N/AC:L/Au:N/C:P/I:P/A:P", baseScore: 7.5 } },
        { products: ["C"], cvss_v3: { version: "3.1", vectorString: "no vector", baseScore: 2 } },
      ],
    };
    const metrics = [{ products: ["A"], content: { cvss_v4: { vectorString: V4 } } }];
    const document = { ...CSAF, vulnerabilities: [vulnerability, { ids: [{ system_name: "x", text: "ODD-1" }], metrics }, {}] };
    const { problems } = await importJson(world, document, { kind: "vulnerabilities" });
    assert.equal(problems.length, 2);
    assert.deepEqual(await metadata(world, "CVE-2026-0012"), {
      summary: "A title",
      details: "Described",
      references: [[10, "https://example.test/csaf"]],
      severities: [
        [1, "AV:N/AC:L/Au:N/C:P/I:P/A:P"],
        [2, "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:C/C:L/I:N/A:N"],
      ],
    });
    assert.deepEqual((await metadata(world, "ODD-1"))?.severities, [[3, V4]]);
  });

  test("an older record of a vulnerability does not replace a newer one", async () => {
    const versions = ["2026-02-01", "2026-03-01", "2026-01-15"].map((day) =>
      osv({ id: "OLD-1", modified: `${day}T00:00:00Z`, summary: day }),
    );
    for (const version of versions) await importJson(world, version, { kind: "vulnerabilities" });
    assert.equal((await metadata(world, "OLD-1"))?.summary, "2026-03-01");
  });
});

const V4 = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N";

async function metadata(world: World, id: string) {
  const { listVulnerabilityMetadata } = SecurityAdvisoryService.method;
  const [found] = (await world.must(listVulnerabilityMetadata, { id })).vulnerabilityMetadata;
  return (
    found && {
      summary: found.summary,
      details: found.details,
      references: found.references.map(({ type, url }) => [type, url]),
      severities: found.severities.map(({ type, score }) => [type, score]),
    }
  );
}
