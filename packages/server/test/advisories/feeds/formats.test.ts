/** Tests the content of feeds in each of their formats. */
import assert from "node:assert/strict";
import { before, beforeEach, it } from "node:test";
import { Advisories, type Advisory, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { putVulnerabilities } from "../../harness/advisories/advisories.ts";
import {
  allowWriting,
  confirmed,
  detected,
  fixedIn,
  type GivenEvent,
  get,
  getJson,
  getZip,
  put,
  refuted,
} from "../../harness/advisories/feed-client.ts";
import { assertCsaf, assertOpenVex, assertOsv, assertSecdb } from "../../harness/advisories/format-rules.ts";
import fc from "../../harness/property.ts";
import { describeWithWorld } from "../../harness/world.ts";

interface Osv {
  readonly id: string;
  readonly affected: readonly {
    package: { ecosystem: string; name: string; purl: string };
    ranges: object[];
    ecosystem_specific: object;
  }[];
}

interface CsafDocument {
  readonly document: { readonly tracking: { readonly version: string } };
  readonly vulnerabilities: readonly {
    readonly cve: string;
    readonly product_status: object;
    readonly flags?: readonly { readonly label: string }[];
    readonly remediations?: readonly { readonly category: string }[];
  }[];
}

const names = ["openssl", "@types/node", "org.apache:log4j", "github.com/x/y", "ünï/cödé name", "..", "a b"];
const types = ["apk", "deb", "rpm", "pypi", "npm", "maven", "golang", "python", "gem", "cargo", "oci", "", "weird type"];

const kinds: readonly GivenEvent[] = [
  detected,
  confirmed("It is."),
  confirmed(),
  ...([1, 2, 3, 4, 5, 6, 7] as const).map((type) => refuted(type)),
  refuted(2, "Not there."),
  refuted(1, "Nobody believes it."),
  fixedIn("1.2.3-r4"),
  fixedIn(""),
  { type: { case: "analysisNotPlanned", value: { note: "" } } },
  { type: { case: "fixNotPlanned", value: { note: "Out of support." } } },
  { type: { case: "pendingUpstreamFix", value: { note: "" } } },
  { type: { case: "patched", value: { patchedVersions: ["1.0+patched.1", "1.1+patched.1"], note: "" } } },
];

const arbitraryAdvisory = fc.record({
  advisoryId: fc.constantFrom(
    "CGA-2222-2222-2222",
    "CGA-3333-3333-3333",
    "CVE-2026-1234",
    "GHSA-x/../y",
    "GHSA-ü",
    "HOLT-2222-2222-2222",
    "x_ab-1",
  ),
  artifactType: fc.constantFrom(...types),
  artifactName: fc.constantFrom(...names),
  artifactArchitecture: fc.constantFrom("", "x86_64", "all of them"),
  componentType: fc.constantFrom("", "apk", "go-module", "java-archive", "binary"),
  componentName: fc.constantFrom("", ...names),
  componentLocation: fc.constantFrom("", "/usr/bin/a b"),
  aliases: fc.uniqueArray(fc.constantFrom("CVE-2026-1234", "CVE-2026-9", "GHSA-aaaa-bbbb-cccc", "odd one"), { maxLength: 3 }),
  events: fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 4 }),
});

describeWithWorld("feeds in their formats", (world) => {
  let group: string;
  before(() => allowWriting(world));
  beforeEach(async () => {
    world.clock.advance(1000);
    group = await world.group(world.orgUid, "advisories");
  });

  it("feeds are valid in their formats for arbitrary advisories", async () => {
    const samples = fc.sample(arbitraryAdvisory, { numRuns: 120, seed: 7 });
    const written: Advisory[] = [];
    for (const sample of samples) {
      world.clock.advance(1000);
      const advisory = await put(world, group, sample).catch((error: Error) => error);
      if (!(advisory instanceof Error)) written.push(advisory);
      else assert.match(advisory.message, /Already exists|Invalid argument/);
    }
    assert.ok(written.length > 80);
    const records = await getZip(world, `${group}/osv.zip`);
    assert.ok(records.size >= 3);
    for (const text of records.values()) assertOsv(JSON.parse(text));
    const openvex = await getJson(world, `${group}/openvex.json`);
    assertOpenVex(openvex);
    assert.equal(openvex.statements.length, written.length);
    assertSecdb(await getJson(world, `${group}/secdb.json`));
    const documents = await getZip(world, `${group}/csaf.zip`);
    const listed = [...documents.keys()].filter((name) => name.endsWith(".json")).sort();
    assert.deepEqual((documents.get("index.txt") ?? "").trim().split("\n").sort(), listed);
    const changes = (documents.get("changes.csv") ?? "").trim().split("\n");
    assert.deepEqual(changes.map((line) => line.split(",")[0]?.slice(1, -1)).sort(), listed);
    const times = changes.map((line) => line.split(",")[1]);
    assert.deepEqual(times, times.toSorted().reverse());
    for (const name of listed) await assertCsaf(JSON.parse(documents.get(name) ?? ""));
  });

  it("an OSV record lists the affected versions of each artifact of an advisory", async () => {
    const wolfi = await world.group(group, "wolfi");
    const debian = await world.group(group, "debian");
    const id = "CGA-4444-4444-4444";
    await putVulnerabilities(world.store, [
      {
        id: `CVE-2026-${group.slice(-4)}1`,
        summary: "Bad.",
        details: "Very bad.",
        references: [{ type: 10, url: "https://example.com/a" }],
        severities: [{ type: 2, score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H" }],
      },
    ]);
    const aliases = [`CVE-2026-${group.slice(-4)}1`];
    await put(world, wolfi, { advisoryId: id, aliases, events: [confirmed(), fixedIn("3.0-r1")] });
    await put(world, debian, { advisoryId: id, aliases, artifactType: "deb", events: [refuted(2)] });
    await put(world, group, {
      advisoryId: id,
      aliases,
      artifactType: "pypi",
      artifactName: "Django_X",
      artifactArchitecture: "",
      events: [confirmed()],
    });
    await put(world, group, { advisoryId: id, aliases, artifactType: "oci", artifactName: "image" });
    const record = await getJson<Osv & Record<string, unknown>>(world, `${group}/osv/${id}.json`);
    assertOsv(record);
    const { affected, summary, details, severity, references } = record;
    assert.deepEqual(
      { summary, details, severity, references, aliases: record.aliases },
      {
        summary: "Bad.",
        details: "Very bad.",
        severity: [{ type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H" }],
        references: [{ type: "WEB", url: "https://example.com/a" }],
        aliases,
      },
    );
    const said = affected.map(({ package: { ecosystem, name, purl }, ranges }) => [ecosystem, name, purl, ranges]);
    const range = (...events: object[]) => [{ type: "ECOSYSTEM", events: [{ introduced: "0" }, ...events] }];
    assert.deepEqual(
      said.sort(),
      [
        ["Debian", "openssl", "pkg:deb/debian/openssl?arch=x86_64", range({ fixed: "0" })],
        ["PyPI", "Django_X", "pkg:pypi/django-x", range()],
        ["Wolfi", "openssl", "pkg:apk/wolfi/openssl?arch=x86_64", range({ fixed: "3.0-r1" })],
      ].sort(),
    );
    assert.deepEqual([...(await getZip(world, `${group}/osv.zip`)).keys()], [`${id}.json`]);
    assert.deepEqual(JSON.parse((await getZip(world, `${group}/osv.zip`)).get(`${id}.json`) ?? ""), record);
    assert.equal((await getJson<Osv>(world, `${wolfi}/osv/${id}.json`)).affected.length, 1);
  });

  it("an OpenVEX statement has the status of each artifact by its latest approved event", async () => {
    const expected: [GivenEvent, Record<string, unknown>][] = [
      [detected, { status: "under_investigation" }],
      [confirmed("Soon."), { status: "affected", action_statement: "Soon." }],
      [
        refuted(5),
        {
          status: "not_affected",
          justification: "vulnerable_code_not_in_execute_path",
          impact_statement: "The vulnerability was found not to apply.",
        },
      ],
      [refuted(1, "No."), { status: "not_affected", impact_statement: "No." }],
      [fixedIn("2-r0"), { status: "fixed" }],
      [{ type: { case: "fixNotPlanned", value: {} } }, { status: "affected", action_statement: "No fix is planned." }],
    ];
    for (const [i, [event]] of expected.entries()) {
      await put(world, group, {
        artifactName: `p${i}`,
        aliases: ["GHSA-a", "CVE-2026-0001"],
        componentName: "x/y",
        componentType: "go-module",
        events: [detected, event],
      });
    }
    const document = await getJson(world, `${group}/openvex.json`);
    assertOpenVex(document);
    const statements = document.statements.map(({ "@id": _, timestamp: __, vulnerability, products, ...status }) => ({
      vulnerability,
      products,
      status,
    }));
    const byName = new Map(statements.map((one) => [/p\d/.exec(JSON.stringify(one.products))?.[0], one]));
    for (const [i, [event, status]] of expected.entries()) {
      const version = event.type?.case === "fixed" ? "@2-r0" : "";
      const purl = `pkg:apk/wolfi/p${i}${version}?arch=x86_64`;
      const component = "pkg:golang/x/y";
      const { vulnerability, products, status: said } = byName.get(`p${i}`) ?? {};
      assert.deepEqual(said, status);
      assert.deepEqual(products, [
        { "@id": purl, identifiers: { purl }, subcomponents: [{ "@id": component, identifiers: { purl: component } }] },
      ]);
      assert.deepEqual((vulnerability as { name: string }).name, "CVE-2026-0001");
    }
  });

  it("a CSAF document has remediations, and distinguishes components of one artifact", async () => {
    const shared = { advisoryId: "CGA-5555-5555-5555", aliases: ["CVE-2026-0005"], componentType: "go-module" };
    await put(world, group, { ...shared, componentName: "a/b", events: [refuted(4)] });
    world.clock.advance(1000);
    await put(world, group, {
      ...shared,
      componentName: "c/d",
      events: [confirmed(), { type: { case: "pendingUpstreamFix", value: {} } }],
    });
    const document = await getJson<CsafDocument>(world, `${group}/csaf/${shared.advisoryId}.json`);
    await assertCsaf(document);
    const [vulnerability] = document.vulnerabilities;
    const artifact = "pkg:apk/wolfi/openssl?arch=x86_64";
    assert.equal(vulnerability?.cve, "CVE-2026-0005");
    assert.deepEqual(vulnerability?.product_status, {
      known_not_affected: [`${artifact} pkg:golang/a/b`],
      known_affected: [`${artifact} pkg:golang/c/d`],
    });
    assert.deepEqual(
      vulnerability?.flags?.map(({ label }) => label),
      ["vulnerable_code_not_present"],
    );
    assert.deepEqual(
      vulnerability?.remediations?.map(({ category }) => category),
      ["none_available"],
    );
    assert.equal(document.document.tracking.version, "3");
  });

  it("an OSV record of an id without a registered prefix has the prefix x_, and is found by it", async () => {
    for (const [advisoryId, osvId] of [
      ["HOLT-2345-cfgh-jmpq", "x_HOLT-2345-cfgh-jmpq"],
      ["x_HOLT-2345-cfgh-jmpq", "x_x_HOLT-2345-cfgh-jmpq"],
      ["CGA-2345-cfgh-jmpq", "CGA-2345-cfgh-jmpq"],
      ["CGAX-1", "x_CGAX-1"],
    ] as const) {
      await put(world, group, { advisoryId, artifactName: osvId, aliases: ["CVE-2026-0007"], events: [confirmed()] });
      const record = await getJson<Osv>(world, `${group}/osv/${osvId}.json`);
      assertOsv(record);
      assert.deepEqual([record.id, record.affected[0]?.package.name], [osvId, osvId]);
      assert.ok((await getZip(world, `${group}/osv.zip`)).has(`${osvId}.json`));
    }
  });

  it("a CSAF document has the known CVSS scores of the products that may be affected", async () => {
    const alias = `CVE-2026-${group.slice(-4).replace(/[^0-9]/g, "0")}88`;
    const severities = [
      { type: 1, score: "AV:N/AC:L/Au:N/C:N/I:N/A:C" },
      { type: 2, score: "CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N" },
      { type: 2, score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N/E:P" },
      { type: 3, score: "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N" },
    ] as const;
    await putVulnerabilities(world.store, [{ id: alias, summary: "Bad.", severities: [...severities] }]);
    const shared = { advisoryId: `CGA-${group.slice(-4)}`, aliases: [alias], artifactArchitecture: "" };
    await put(world, group, { ...shared, artifactName: "affected", events: [confirmed()] });
    await put(world, group, { ...shared, artifactName: "examined", events: [detected] });
    await put(world, group, { ...shared, artifactName: "fixed", events: [confirmed(), fixedIn("2-r0")] });
    await put(world, group, { ...shared, artifactName: "refuted", events: [refuted(2)] });
    const document = await getJson<{ vulnerabilities: { scores?: object[] }[] }>(world, `${group}/csaf/${shared.advisoryId}.json`);
    await assertCsaf(document);
    const [score, ...others] = document.vulnerabilities[0]?.scores ?? [];
    assert.deepEqual(others, []);
    const { products, ...scores } = score as { products: string[] };
    assert.deepEqual(products.toSorted(), ["pkg:apk/wolfi/affected", "pkg:apk/wolfi/examined"]);
    assert.deepEqual(scores, {
      cvss_v2: { version: "2.0", vectorString: severities[0]?.score, baseScore: 7.8 },
      cvss_v3: { version: "3.1", vectorString: severities[2]?.score, baseScore: 6.1, baseSeverity: "MEDIUM" },
    });
    const fixedOnly = {
      ...shared,
      advisoryId: `${shared.advisoryId}-fixed`,
      artifactName: "fixed",
      events: [confirmed(), fixedIn("2-r0")],
    };
    await put(world, group, fixedOnly);
    const other = await getJson<typeof document>(world, `${group}/csaf/${fixedOnly.advisoryId}.json`);
    assert.equal(other.vulnerabilities[0]?.scores, undefined);
  });

  it("a secdb lists the fixed vulnerabilities of each version, and those that never affected the package", async () => {
    await put(world, group, { aliases: ["CVE-2026-1"], events: [fixedIn("3.0-r1")] });
    await put(world, group, { aliases: ["CVE-2026-2", "GHSA-2"], events: [fixedIn("3.0-r1")] });
    await put(world, group, { aliases: ["CVE-2026-3"], events: [fixedIn("2-r0"), refuted(2)] });
    await put(world, group, { aliases: ["CVE-2026-4"], events: [confirmed()] });
    await put(world, group, { aliases: ["CVE-2026-5"], artifactName: "curl", artifactArchitecture: "aarch64", events: [confirmed()] });
    await put(world, group, { aliases: ["CVE-2026-6"], artifactName: "django", artifactType: "pypi" });
    assert.deepEqual(await getJson(world, `${group}/secdb.json`), {
      apkurl: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
      archs: ["aarch64", "x86_64"],
      reponame: "advisories",
      urlprefix: world.baseUrl,
      packages: [{ pkg: { name: "openssl", secfixes: { "0": ["CVE-2026-3"], "3.0-r1": ["CVE-2026-1", "CVE-2026-2", "GHSA-2"] } } }],
    });
  });

  it("feeds leave out unapproved events and deleted advisories", async () => {
    const secret = "9.9-r9";
    const pending = { ...fixedIn(secret), status: ReviewStatus.PENDING };
    const rejected = { ...fixedIn(secret), status: ReviewStatus.REJECTED };
    const partly = await put(world, group, { advisoryId: "CGA-6666-6666-6666", events: [detected, pending, rejected] });
    await put(world, group, { advisoryId: "CGA-7777-7777-7777", events: [pending] });
    const gone = await put(world, group, { advisoryId: "CGA-8888-8888-8888", events: [fixedIn(secret)] });
    await world.must(Advisories.method.delete, { id: gone.id });
    const all = await Promise.all([
      getZip(world, `${group}/osv.zip`).then((files) => [...files].join()),
      getZip(world, `${group}/csaf.zip`).then((files) => [...files].join()),
      get(world, `${group}/openvex.json`).then(({ bytes }) => bytes.toString()),
      get(world, `${group}/secdb.json`).then(({ bytes }) => bytes.toString()),
    ]);
    for (const text of all) assert.doesNotMatch(text, /9\.9-r9|CGA-7777|CGA-8888/);
    for (const text of all.slice(0, 3)) assert.match(text, /CGA-6666/);
    for (const id of ["CGA-7777-7777-7777", "CGA-8888-8888-8888"]) {
      assert.equal((await get(world, `${group}/osv/${id}.json`)).status, 404);
      assert.equal((await get(world, `${group}/csaf/${id}.json`)).status, 404);
    }
    assert.ok(partly.events.length === 3);
  });

  it("feeds without advisories are empty, except OpenVEX, which does not exist then", async () => {
    assert.equal((await getZip(world, `${group}/osv.zip`)).size, 0);
    assert.deepEqual(Object.fromEntries(await getZip(world, `${group}/csaf.zip`)), { "index.txt": "", "changes.csv": "" });
    assertSecdb(await getJson(world, `${group}/secdb.json`));
    assert.equal((await get(world, `${group}/openvex.json`)).status, 404);
  });
});
