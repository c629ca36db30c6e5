/** Tests which vulnerabilities the server finds in images, and how it shows them, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PackageVulnerability_State, VulnerabilitiesService } from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { Vulnerabilities } from "@holt/api/gen/platform/registry/v1/vulnerabilities_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { timestampFromText } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { falsePositive, fixed, type GivenAdvisory, putAdvisories } from "../harness/advisories/advisories.ts";
import { CRITICAL, createFindingsWorld, type FindingsWorld, HIGH, LOW, osv } from "../harness/advisories/findings-world.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { DPKG, layerOf, osRelease, RPM, rpmDatabase, rpmHeader } from "../harness/registry/image-content.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listImageVulnerabilities, listVulnerabilities, listVulnerabilityCounts } = VulnerabilitiesService.method;
const DAY_MS = 24 * 60 * 60 * 1000;

describeWithWorld("open vulnerabilities of images", (world) => {
  let given: FindingsWorld;
  before(async () => {
    given = await createFindingsWorld(world);
  });
  after(() => given[Symbol.dispose]());

  const range = (fixed: string) => [{ introduced: "0" }, { fixed }];
  const wolfi = (id: string, name: string, fixed: string, rest: object = {}) =>
    osv(id, [{ ecosystem: "Wolfi", name, events: range(fixed) }], rest);
  /** The events of critical findings in images of the test's repo. */
  const criticalEvents = async (after: number) =>
    (await eventsAfter(world, after))
      .filter(({ type, subject }) => type.endsWith(".registry.vulnerabilities.critical.v1") && subject === given.repo.uid)
      .map(({ data }) => (JSON.parse(data) as { body: Record<string, unknown> }).body);

  test("an imported range opens a vulnerability in images that were pushed before and after the import", async () => {
    const before = await given.push(["openssl 3.0.1-r0", "musl 1.2.4-r0"]);
    assert.deepEqual(await given.found(before), []);
    await given.importAdvisories([wolfi("CVE-2024-1000", "openssl", "3.0.2-r0")]);
    const after = await given.push(["libssl3 3.0.1-r1 openssl"]);
    assert.deepEqual(await given.found(before), ["CVE-2024-1000 openssl 3.0.1-r0 UNKNOWN OPEN"]);
    assert.deepEqual(await given.found(after), ["CVE-2024-1000 libssl3 3.0.1-r1 UNKNOWN OPEN"]);
    assert.deepEqual(await given.found(await given.push(["openssl 3.0.2-r0"])), []);
  });

  test("a version that an OSV record lists is vulnerable, also if the record's ranges do not contain it", async () => {
    const versions = ["1.0-r0", "3.0-r0"];
    await given.importAdvisories([osv("CVE-2024-1009", [{ ecosystem: "Wolfi", name: "listed", events: range("2.0-r0"), versions }])]);
    for (const version of versions)
      assert.deepEqual(await given.found(await given.push([`listed ${version}`])), [`CVE-2024-1009 listed ${version} UNKNOWN OPEN`]);
    assert.deepEqual(await given.found(await given.push(["listed 3.1-r0"])), []);
  });

  test("the severity follows the public record, and a critical one is announced once per image", async () => {
    const digest = await given.push(["busybox 1.36.0-r0"]);
    await given.importAdvisories([wolfi("CVE-2024-1001", "busybox", "1.36.1-r0")]);
    await given.found(digest);
    const start = await lastSeq(world);
    await given.score({ "CVE-2024-1001": CRITICAL });
    assert.deepEqual(await given.found(digest), ["CVE-2024-1001 busybox 1.36.0-r0 CRITICAL OPEN"]);
    const vulnerability = { id: "CVE-2024-1001", packages: ["apk:busybox@1.36.0-r0"], fixed_versions: ["1.36.1-r0"] };
    const [first, ...others] = await criticalEvents(start);
    assert.deepEqual(others, []);
    assert.deepEqual([first?.digest, first?.repo_id, first?.vulnerabilities], [digest, given.repo.uid, [vulnerability]]);
    // Another advisory about the same vulnerability announces nothing.
    await given.importAdvisories([wolfi("CGA-1001", "busybox", "1.36.1-r0", { aliases: ["CVE-2024-1001"] })]);
    await given.settle();
    assert.equal((await criticalEvents(start)).length, 1);
    const second = await given.push(["busybox 1.36.0-r0", "other 1"]);
    await given.settle();
    assert.deepEqual(
      (await criticalEvents(start)).map((event) => event.digest),
      [digest, second],
    );
  });

  test("a statement of the organization suppresses a vulnerability with its justification, and deleting it opens it again", async () => {
    const digest = await given.push(["curl 8.0.0-r0"]);
    await given.importAdvisories([wolfi("CVE-2024-1002", "curl", "8.1.0-r0")]);
    const [uid] = await putAdvisories(world.store, [
      { parent: given.org, id: "CGA-1002", name: "curl", aliases: ["CVE-2024-1002"], events: [falsePositive("2024-03-01T00:00:00Z")] },
    ]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1002 curl 8.0.0-r0 UNKNOWN SUPPRESSED"]);
    const [found] = (await given.list(digest)).vulnerabilities;
    const { $typeName: _, ...suppression } = found?.vulnerability?.suppression ?? assert.fail();
    assert.deepEqual(suppression, {
      status: "not_affected",
      justification: "vulnerable_code_not_present",
      note: "not used",
      advisoryUid: uid,
    });
    const report = await world.must(Registry.method.getVulnReport, { repoId: given.repo.uid, digest });
    assert.deepEqual(report.vulnerabilityMatches, []);
  });

  test("a statement about a component of another package suppresses it only where that package is", async () => {
    await given.importAdvisories([wolfi("CVE-2024-1003", "zlib", "1.4-r0")]);
    const bundled = await given.push(["zlib 1.3-r0", "grafana 10.0-r0"]);
    const alone = await given.push(["zlib 1.3-r0", "unrelated 1"]);
    await given.importAdvisories([
      {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": "https://example.com/vex",
        author: "owner",
        timestamp: "2024-03-01T00:00:00Z",
        version: 1,
        statements: [
          {
            vulnerability: { name: "CVE-2024-1003" },
            products: [{ "@id": "pkg:apk/wolfi/grafana", subcomponents: [{ "@id": "pkg:apk/wolfi/zlib" }] }],
            status: "not_affected",
            justification: "inline_mitigations_already_exist",
          },
        ],
      },
    ]);
    assert.deepEqual(await given.found(bundled), ["CVE-2024-1003 zlib 1.3-r0 UNKNOWN SUPPRESSED"]);
    assert.deepEqual(await given.found(alone), ["CVE-2024-1003 zlib 1.3-r0 UNKNOWN OPEN"]);
  });

  test("a statement about an image suppresses the vulnerability of its own id, whatever the case of its artifact type", async () => {
    const digest = await given.push(["named 1.0-r0"]);
    await given.importAdvisories([wolfi("CVE-2024-1009", "named", "2.0-r0")]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1009 named 1.0-r0 UNKNOWN OPEN"]);
    const { name } = await world.store.reader.selectFrom("repo").select("name").where("uid", "=", given.repo.uid).executeTakeFirstOrThrow();
    const [uid] = await putAdvisories(world.store, [
      // Lists its own id, so that it is found in two ways.
      {
        parent: given.org,
        id: "CVE-2024-1009",
        name,
        type: "OCI",
        aliases: ["CVE-2024-1009"],
        events: [falsePositive("2024-03-01T00:00:00Z")],
      },
    ]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1009 named 1.0-r0 UNKNOWN SUPPRESSED"]);
    assert.equal((await given.list(digest)).vulnerabilities[0]?.vulnerability?.suppression?.advisoryUid, uid);
  });

  test("a critical vulnerability is announced each time that a withdrawn statement opens it again", async () => {
    const { name } = await world.store.reader.selectFrom("repo").select("name").where("uid", "=", given.repo.uid).executeTakeFirstOrThrow();
    const digest = await given.push(["stated 1.0-r0", "carrier 1.0-r0"]);
    await given.score({ "CVE-2024-1012": CRITICAL });
    const start = await lastSeq(world);
    await given.importAdvisories([wolfi("CVE-2024-1012", "stated", "2.0-r0")]);
    await given.settle();
    const editor = await world.robot(given.org, [Capability.CAP_ADVISORIES_DELETE]);
    const announced = async () => (await criticalEvents(start)).map((event) => [event.digest, event.vulnerability_count]);
    assert.deepEqual(await announced(), [[digest, 1]]);
    const events = [falsePositive("2024-03-01T00:00:00Z")];
    const statements = [
      { id: "CGA-1012", aliases: ["CVE-2024-1012"], type: "oci", name, events },
      { id: "CGA-1013", aliases: ["CVE-2024-1012"], type: "Docker", name: `folder/${name}`, events },
      { id: "CGA-1014", aliases: ["CVE-2024-1012"], name: "carrier", component: "stated", events },
    ];
    for (const [index, statement] of statements.entries()) {
      const [uid = ""] = await putAdvisories(world.store, [{ parent: given.org, ...statement }]);
      const isElsewhere = statement.name.startsWith("folder/");
      assert.deepEqual(await given.found(digest), [`CVE-2024-1012 stated 1.0-r0 CRITICAL ${isElsewhere ? "OPEN" : "SUPPRESSED"}`]);
      await world.must(Advisories.method.delete, { id: uid }, editor.token);
      await given.settle();
      const times = isElsewhere ? index + 1 : index + 2;
      assert.equal((await announced()).length, Math.min(times, 3), statement.id);
    }
    assert.deepEqual(await announced(), [
      [digest, 1],
      [digest, 1],
      [digest, 1],
    ]);
  });

  test("an update that names another package closes the vulnerability in the former one", async () => {
    const digest = await given.push(["former 1.0-r0", "latter 1.0-r0"]);
    const [id = ""] = await putAdvisories(world.store, [
      { parent: given.org, id: "CVE-2024-1015", name: "former", events: [fixed("2024-03-01T00:00:00Z", "2.0-r0")] },
    ]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1015 former 1.0-r0 UNKNOWN OPEN"]);
    const editor = await world.robot(given.org, [Capability.CAP_ADVISORIES_UPDATE, Capability.CAP_ADVISORIES_APPROVE]);
    const changed = { id, artifactName: "latter", artifactType: "apk", artifactArchitecture: "x86_64", author: "author" };
    await world.must(Advisories.method.update, changed, editor.token);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1015 latter 1.0-r0 UNKNOWN OPEN"]);
  });

  test("an advisory about a Debian source package is compared with the version of the source package", async () => {
    // As Debian 12 has them: the epoch is that of the package alone, and a rebuild adds to the version.
    const status = `Package: bsdutils
Source: util-linux (2.38.1-5+deb12u3)
Version: 1:2.38.1-5+deb12u3
Architecture: amd64

Package: postgresql
Source: postgresql-common (248+deb12u1)
Version: 15+248+deb12u1
Architecture: all

Package: bash
Source: bash (5.2.15-2)
Version: 5.2.15-2+b8
Architecture: amd64
`;
    const layer = await layerOf({ [DPKG]: status, "etc/os-release": osRelease("debian", "12") });
    const { digest } = await given.repo.push([layer]);
    const debian = (id: string, name: string, fixed: string) => osv(id, [{ ecosystem: "Debian:12", name, events: range(fixed) }]);
    await given.importAdvisories([
      debian("CVE-2024-2001", "util-linux", "2.38.1-5+deb12u4"),
      debian("CVE-2024-2002", "util-linux", "2.38.1-5+deb12u3"),
      debian("CVE-2024-2003", "postgresql-common", "249"),
      debian("CVE-2024-2004", "postgresql-common", "248"),
      debian("CVE-2024-2005", "bash", "5.2.15-2+deb12u1"),
    ]);
    assert.deepEqual((await given.found(digest)).sort(), [
      "CVE-2024-2001 bsdutils 1:2.38.1-5+deb12u3 UNKNOWN OPEN",
      "CVE-2024-2003 postgresql 15+248+deb12u1 UNKNOWN OPEN",
      "CVE-2024-2005 bash 5.2.15-2+b8 UNKNOWN OPEN",
    ]);
    const { purls } = (await given.list(digest, { packageNames: ["util-linux"] })).vulnerabilities[0] ?? assert.fail();
    assert.deepEqual(purls, [
      "pkg:deb/debian/bsdutils@1:2.38.1-5%2Bdeb12u3?arch=amd64&distro=debian-12&upstream=util-linux%402.38.1-5%2Bdeb12u3",
    ]);
  });

  /** An image of an rpm distribution with zlib 1.2-1. */
  const pushZlib = async (id: string, version: string) => {
    const { database } = await rpmDatabase([rpmHeader({ name: "zlib", version: "1.2", release: "1", arch: "noarch" }), rpmHeader({})]);
    const layer = await layerOf({ [RPM]: database, "etc/os-release": osRelease(id, version) });
    return (await given.repo.push([layer])).digest;
  };

  test("an advisory about one of the openSUSE distributions says nothing about images of the others", async () => {
    const [leap, tumbleweed] = [await pushZlib("opensuse-leap", "15.6"), await pushZlib("opensuse-tumbleweed", "20260101")];
    await given.importAdvisories([
      osv("CVE-2024-2101", [{ ecosystem: "openSUSE:Tumbleweed", name: "zlib", events: range("1.3-1") }]),
      osv("CVE-2024-2102", [{ ecosystem: "openSUSE:Leap 15.6", name: "zlib", events: range("1.3-1") }]),
    ]);
    assert.deepEqual(await given.found(leap), ["CVE-2024-2102 zlib 1.2-1 UNKNOWN OPEN"]);
    assert.deepEqual(await given.found(tumbleweed), ["CVE-2024-2101 zlib 1.2-1 UNKNOWN OPEN"]);
  });

  test("an advisory about one service pack of SUSE Linux Enterprise says nothing about images of the others", async () => {
    const [sp4, sp5] = [await pushZlib("sles", "15.4"), await pushZlib("sles", "15.5")];
    const about = (id: string, product: string) => osv(id, [{ ecosystem: `SUSE:${product}`, name: "zlib", events: range("1.3-1") }]);
    await given.importAdvisories([
      about("CVE-2024-2201", "Linux Enterprise Server 15 SP4-LTSS"),
      about("CVE-2024-2202", "Linux Enterprise Module for Basesystem 15 SP5"),
      about("CVE-2024-2203", "Linux Enterprise Module for Containers 15"),
      about("CVE-2024-2204", "Linux Enterprise Micro 5.5"),
    ]);
    const [of4, of5, ofBoth] = [1, 2, 3].map((number) => `CVE-2024-220${number} zlib 1.2-1 UNKNOWN OPEN`);
    assert.deepEqual(await given.found(sp4), [of4, ofBoth]);
    assert.deepEqual(await given.found(sp5), [of5, ofBoth]);
  });

  test("language packages of SBOMs are compared by the ranges of their ecosystems", async () => {
    const { digest } = await given.repo.push([]);
    const purls = [
      "pkg:pypi/Django_Storages@1.9",
      "pkg:golang/golang.org/x/net@v0.7.0",
      "pkg:npm/%40scope/left@2.0.1",
      "pkg:maven/org.a/b@1.0",
    ];
    const sbom = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.5", components: purls.map((purl) => ({ name: "x", purl })) });
    await given.repo.pushArtifact([[sbom, "application/vnd.cyclonedx+json"]], {
      subject: { mediaType: "application/vnd.oci.image.manifest.v1+json", digest, size: 1 },
    });
    const semver = (id: string, ecosystem: string, name: string, events: object[]) =>
      osv(id, [{ ecosystem, name, events, type: "SEMVER" }]);
    await given.importAdvisories([
      osv("GHSA-aaaa-aaaa-aaaa", [{ ecosystem: "PyPI", name: "django-storages", events: range("2.0") }], { aliases: ["CVE-2024-1004"] }),
      semver("GO-2024-1", "Go", "golang.org/x/net", range("0.7.1")),
      semver("GHSA-bbbb-bbbb-bbbb", "npm", "@scope/left", [...range("1.0.5"), { introduced: "2.0.0" }, { fixed: "2.0.2" }]),
      osv("GHSA-cccc-cccc-cccc", [{ ecosystem: "Maven", name: "org.a:b", events: range("1.0") }]),
    ]);
    assert.deepEqual((await given.found(digest)).sort(), [
      "CVE-2024-1004 Django_Storages 1.9 UNKNOWN OPEN",
      "GHSA-bbbb-bbbb-bbbb @scope/left 2.0.1 UNKNOWN OPEN",
      "GO-2024-1 golang.org/x/net v0.7.0 UNKNOWN OPEN",
    ]);
    const found = await given.list(digest, { vulnerabilityIds: ["GHSA-bbbb-bbbb-bbbb"] });
    assert.deepEqual(found.vulnerabilities[0]?.vulnerability?.fixedVersions, ["2.0.2"]);
    assert.deepEqual(found.vulnerabilities[0]?.purls, ["pkg:npm/%40scope/left@2.0.1"]);
  });

  test("a Python package is found by an advisory that separates the parts of its name by different characters", async () => {
    const { digest } = await given.repo.push([]);
    const component = { name: "x", purl: "pkg:pypi/backports.ssl_match_hostname@3.4" };
    const sbom = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.5", components: [component] });
    await given.repo.pushArtifact([[sbom, "application/vnd.cyclonedx+json"]], {
      subject: { mediaType: "application/vnd.oci.image.manifest.v1+json", digest, size: 1 },
    });
    const python = (id: string, name: string) => osv(id, [{ ecosystem: "PyPI", name, events: range("3.5") }]);
    await given.importAdvisories([
      python("CVE-2024-2201", "backports.ssl_match_hostname"),
      python("CVE-2024-2202", "Backports.SSL-Match_Hostname"),
      python("CVE-2024-2203", "backports.ssl.match.hostname"),
    ]);
    assert.deepEqual(
      (await given.found(digest)).sort(),
      [1, 2, 3].map((n) => `CVE-2024-220${n} backports.ssl_match_hostname 3.4 UNKNOWN OPEN`),
    );
    for (const { vulnerability } of (await given.list(digest)).vulnerabilities) assert.equal(vulnerability?.advisoryUids.length, 1);
  });

  test("advisories of other organizations do not count, and pending events count nowhere", async () => {
    const digest = await given.push(["private 1.0-r0"]);
    const other = await world.group("", `other-${given.org.slice(0, 8)}`);
    await given.importAdvisories([wolfi("CVE-2024-1005", "private", "2")], other);
    await putAdvisories(world.store, [
      {
        parent: given.org,
        id: "CVE-2024-1006",
        name: "private",
        events: [{ time: "2024-03-01T00:00:00Z", type: { case: "fixed", value: { fixedVersion: "2" } }, status: 1 }],
      },
    ]);
    assert.deepEqual(await given.found(digest), []);
  });

  test("the advisories of a public organization count in the images of all organizations", async () => {
    const digest = await given.push(["shared 1.0-r0"]);
    await given.found(digest);
    await given.importAdvisories([wolfi("CVE-2024-1007", "shared", "2")], world.orgUid);
    const { advisories } = await world.must(AdvisoriesService.method.listAdvisories, { advisoryIds: ["CVE-2024-1007"] });
    assert.equal(advisories.length, 1);
    await until(async () => {
      const waiting = await world.store.reader.selectFrom("match_request").select("name").where("org_uid", "=", world.orgUid).execute();
      return waiting.length === 0;
    });
    assert.deepEqual(await given.found(digest), ["CVE-2024-1007 shared 1.0-r0 UNKNOWN OPEN"]);
  });

  test("a record that its source changed replaces the ranges of the one before", async () => {
    const digest = await given.push(["moving 1.5-r0"]);
    await given.importAdvisories([wolfi("CVE-2024-1008", "moving", "1.4-r0")]);
    assert.deepEqual(await given.found(digest), []);
    await given.importAdvisories([wolfi("CVE-2024-1008", "moving", "1.6-r0", { modified: "2024-02-02T00:00:00Z" })]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1008 moving 1.5-r0 UNKNOWN OPEN"]);
    await given.importAdvisories([wolfi("CVE-2024-1008", "moving", "1.4-r0")]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1008 moving 1.5-r0 UNKNOWN OPEN"]);
  });

  test("an index lists the vulnerabilities of each platform", async () => {
    const { repo } = given;
    await given.importAdvisories([wolfi("CVE-2024-1009", "multi", "2-r0")]);
    const images = [await given.push(["multi 1-r0"]), await given.push(["multi 2-r0"], "arm64")];
    const sizes = await world.store.reader
      .selectFrom("manifest")
      .select(["digest", "size", "media_type"])
      .where("digest", "in", images)
      .execute();
    const index = await repo.pushIndex(sizes.map(({ digest, size, media_type }) => ({ mediaType: media_type, digest, size })));
    await given.settle();
    const { vulnerabilities, complete } = await given.list(index.digest);
    assert.equal(complete, true);
    assert.deepEqual(
      vulnerabilities.map(({ imageDigest, platform, locations }) => [imageDigest, platform, locations]),
      [[images[0], "linux/amd64", ["lib/apk/db/installed"]]],
    );
  });

  test("a report refuses an index of more than 100 images, and more than 20,000 findings of all its platforms together", async () => {
    const { repo } = given;
    const variants = Array.from({ length: 101 }, (_, index) => `v${index}`);
    const images = await Promise.all(variants.map((variant) => repo.push([], { architecture: "arm", variant })));
    const ids = Array.from({ length: 201 }, (_, index) => `CVE-2024-${50_000 + index}`);
    await given.importAdvisories(ids.map((id) => osv(id, [{ ecosystem: "npm", name: "shared", events: range("2.0.0"), type: "SEMVER" }])));
    const sbom = { bomFormat: "CycloneDX", specVersion: "1.5", components: [{ name: "x", purl: "pkg:npm/shared@1.0.0" }] };
    const pushDescribed = async (count: number) => {
      const index = await repo.pushIndex(images.slice(0, count));
      await repo.pushArtifact([[JSON.stringify(sbom), "application/vnd.cyclonedx+json"]], { subject: index });
      return index.digest;
    };
    const [small, large, excessive] = [await pushDescribed(2), await pushDescribed(100), await pushDescribed(101)];
    await given.settle();
    assert.equal((await given.list(small)).totalCount, 402n);
    for (const [digest, code] of [
      [large, Code.RESOURCE_EXHAUSTED],
      [excessive, Code.FAILED_PRECONDITION],
    ] as const) {
      assert.equal(codeOf(await world.grpc.call(listImageVulnerabilities, { uid: repo.uid, digest }, world.owner.token)), code);
    }
  });

  test("pages of an image list each vulnerability once, the most severe first, and filters narrow them", async () => {
    const ids = ["CVE-2024-2001", "CVE-2024-2002", "CVE-2024-2003", "CVE-2024-2004"];
    await given.importAdvisories(ids.map((id) => wolfi(id, "paged", "2-r0")));
    await given.score({ "CVE-2024-2001": LOW, "CVE-2024-2002": HIGH, "CVE-2024-2004": HIGH });
    const digest = await given.push(["paged 1-r0"]);
    await given.settle();
    const listed: string[] = [];
    let pageToken = "";
    do {
      const page = await given.list(digest, { pageSize: 1, pageToken });
      assert.equal(page.totalCount, 4n);
      listed.push(...page.vulnerabilities.map(({ vulnerability }) => vulnerability?.vulnerabilityId ?? ""));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    assert.deepEqual(listed, ["CVE-2024-2002", "CVE-2024-2004", "CVE-2024-2001", "CVE-2024-2003"]);
    const high = await given.list(digest, { severities: [5] });
    assert.equal(high.totalCount, 2n);
    const path = `/holt/v1/repos/${given.repo.uid}/digests/${digest}/vulnerabilities?severities=VULNERABILITY_SEVERITY_LOW`;
    const rest = JSON.parse((await world.raw("GET", path)).text) as { vulnerabilities: { vulnerability: { vulnerabilityId: string } }[] };
    assert.deepEqual(
      rest.vulnerabilities.map(({ vulnerability }) => vulnerability.vulnerabilityId),
      ["CVE-2024-2001"],
    );
  });

  test("a package has at most 100 purls, which count towards the bytes of pages and of version 1 reports", async () => {
    const { repo } = given;
    const { digest } = await repo.push([]);
    const purls = Array.from({ length: 150 }, (_, index) => `pkg:npm/repeated@1.0.0?arch=a${index}&x=${"y".repeat(900)}`);
    const sbom = { bomFormat: "CycloneDX", specVersion: "1.5", components: purls.map((purl) => ({ name: "x", purl })) };
    await repo.pushArtifact([[JSON.stringify(sbom), "application/vnd.cyclonedx+json"]], {
      subject: { mediaType: "application/vnd.oci.image.manifest.v1+json", digest, size: 1 },
    });
    const ids = Array.from({ length: 200 }, (_, index) => `CVE-2024-${60_000 + index}`);
    await given.importAdvisories(
      ids.map((id) => osv(id, [{ ecosystem: "npm", name: "repeated", events: range("2.0.0"), type: "SEMVER" }])),
    );
    await given.settle();
    const { vulnerabilities, totalCount, nextPageToken } = await given.list(digest, { pageSize: 200 });
    assert.equal(totalCount, 200n);
    assert.equal(vulnerabilities[0]?.purls.length, 100);
    assert.ok(vulnerabilities.length < 12, `the page has ${vulnerabilities.length} vulnerabilities`);
    assert.notEqual(nextPageToken, "");
    const { token } = world.owner;
    const codes = [
      codeOf(await world.grpc.call(Registry.method.getVulnReport, { repoId: repo.uid, digest }, token)),
      codeOf(await world.grpc.call(Vulnerabilities.method.getRawVulnReport, { digest }, token)),
      codeOf(await world.grpc.call(Vulnerabilities.method.listVulnReports, { digest, scanner: { name: 1 } }, token)),
    ];
    assert.deepEqual(codes, Array(3).fill(Code.RESOURCE_EXHAUSTED));
  });

  test("a filter of vulnerabilities with more than 1,000 values is refused", async () => {
    const digest = await given.push(["filtered 1-r0"]);
    const answerTo = async (filters: object) => {
      const { token } = world.owner;
      const { uid } = given.repo;
      const inImage = await world.grpc.call(listImageVulnerabilities, { uid, digest, ...filters }, token);
      const inRepo = await world.grpc.call(listVulnerabilities, { uid, ...filters }, token);
      return [codeOf(inImage), codeOf(inRepo)];
    };
    const names = Array.from({ length: 1001 }, (_, index) => `name-${index}`);
    for (const filters of [{ packageNames: names }, { vulnerabilityIds: names }, { severities: Array(1001).fill(5) }])
      assert.deepEqual(await answerTo(filters), [Code.INVALID_ARGUMENT, Code.INVALID_ARGUMENT]);
    assert.deepEqual(await answerTo({ packageNames: names.slice(1) }), [0, 0]);
  });

  test("a group lists each vulnerability of a package once, with the number of its images", async () => {
    await given.importAdvisories([wolfi("CVE-2024-2010", "counted", "2-r0"), wolfi("CVE-2024-2011", "counted", "2-r0")]);
    await given.push(["counted 1-r0", "a 1"]);
    await given.push(["counted 1-r0", "b 1"]);
    await given.push(["counted 1-r1"]);
    await given.settle();
    const list = async (uid: string, rest: object = {}) => {
      const found: string[] = [];
      let pageToken = "";
      do {
        const page = await world.must(listVulnerabilities, { uid, packageNames: ["counted"], pageSize: 2, pageToken, ...rest });
        for (const { vulnerability, imageCount } of page.vulnerabilities)
          found.push(`${vulnerability?.vulnerabilityId} ${vulnerability?.packageVersion} ${imageCount}`);
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      return found;
    };
    const all = ["CVE-2024-2010 1-r0 2", "CVE-2024-2011 1-r0 2", "CVE-2024-2010 1-r1 1", "CVE-2024-2011 1-r1 1"];
    assert.deepEqual(await list(given.org), all);
    assert.deepEqual(await list(given.repo.uid), all);
    assert.deepEqual(await list(given.org, { vulnerabilityIds: ["CVE-2024-2011"] }), [all[1], all[3]]);
    assert.deepEqual(await list(await world.group(given.org, "empty")), []);
    assert.deepEqual(await list(given.org, { severities: [6] }), []);
  });

  test("a caller without the capability at the repo reads no report", async () => {
    const digest = await given.push(["hidden 1-r0"]);
    const stranger = await world.robot(await world.group("", `strangers-${given.org.slice(0, 8)}`), [
      Capability.CAP_VULN_REPORT_LIST,
      Capability.CAP_TENANT_VULN_REPORTS_LIST,
      Capability.CAP_REPO_LIST,
    ]);
    for (const client of world.clients) {
      const refused = [
        await client.call(listImageVulnerabilities, { uid: given.repo.uid, digest }, stranger.token),
        await client.call(listVulnerabilities, { uid: given.org }, stranger.token),
        await client.call(listVulnerabilityCounts, { uid: given.repo.uid }, stranger.token),
        await client.call(Registry.method.getVulnReport, { repoId: given.repo.uid, digest }, stranger.token),
      ];
      for (const outcome of refused) assert.equal(codeOf(outcome), Code.PERMISSION_DENIED);
      const reports = answerOf(await client.call(Vulnerabilities.method.listVulnReports, { digest }, stranger.token));
      assert.deepEqual(reports.items, []);
    }
  });

  test("version 1 reports an image with severity, fix and record, as messages and as JSON of Grype", async () => {
    await given.importAdvisories([wolfi("CVE-2024-3001", "reported", "2-r0")]);
    await given.score({ "CVE-2024-3001": HIGH });
    const digest = await given.push(["reported 1-r0"]);
    await given.settle();
    for (const client of [world.rest, world.grpc]) {
      const { token } = world.owner;
      const report = answerOf(await client.call(Registry.method.getVulnReport, { repoId: given.repo.uid, digest }, token));
      const [match] = report.vulnerabilityMatches;
      assert.deepEqual(
        [match?.vulnerability?.id, match?.vulnerability?.severity, match?.fix?.versions, match?.pkg?.name],
        ["CVE-2024-3001", 3, ["2-r0"], "reported"],
      );
      assert.equal(match?.vulnerability?.description, "about CVE-2024-3001");
      const raw = JSON.parse(Buffer.from(report.rawVulnReport).toString("utf8")) as { matches: { vulnerability: { severity: string } }[] };
      assert.equal(raw.matches[0]?.vulnerability.severity, "High");
      const { items } = answerOf(await client.call(Vulnerabilities.method.listVulnReports, { digest, scanner: { name: 1 } }, token));
      const [item] = items;
      assert.deepEqual([items.length, item?.vulnerabilities[0]?.id, item?.vulnerabilities[0]?.severity], [1, "CVE-2024-3001", 3]);
      assert.deepEqual(item?.vulnerabilities[0]?.purls, ["pkg:apk/wolfi/reported@1-r0?arch=x86_64&distro=wolfi-20230201"]);
      const document = answerOf(await client.call(Vulnerabilities.method.getRawVulnReport, { digest }, token));
      assert.equal(document.rawReport, Buffer.from(report.rawVulnReport).toString("utf8"));
      const missing = { repoId: given.repo.uid, digest: `sha256:${"0".repeat(64)}` };
      assert.equal(codeOf(await client.call(Registry.method.getVulnReport, missing, token)), Code.NOT_FOUND);
      assert.equal(codeOf(await client.call(Vulnerabilities.method.listVulnReports, {}, token)), Code.INVALID_ARGUMENT);
      assert.deepEqual(answerOf(await client.call(Vulnerabilities.method.listVulnReports, { digest: missing.digest }, token)).items, []);
    }
    // Only gRPC can carry a time that RFC 3339 cannot express.
    const [beyond, refused] = [{ seconds: 10n ** 15n }, Code.INVALID_ARGUMENT];
    const { listVulnReports, getRawVulnReport } = Vulnerabilities.method;
    assert.equal(codeOf(await world.grpc.call(listVulnReports, { digest, createdSince: beyond }, world.owner.token)), refused);
    assert.equal(codeOf(await world.grpc.call(getRawVulnReport, { digest, createdAt: beyond }, world.owner.token)), refused);
  });

  test("counts by day show what was known at the end of each day, and cumulative ones what was known in the range", async () => {
    const { repo } = given;
    const digests = [await given.push(["daily 1-r0"]), await given.push(["daily 2-r0"])];
    await given.importAdvisories([wolfi("CVE-2024-3101", "daily", "2-r0"), wolfi("CVE-2024-3102", "daily", "2-r0")]);
    await given.score({ "CVE-2024-3101": HIGH });
    await given.settle();
    // Moved to the past: the tag had the first image two days ago and the second since yesterday.
    const day = Math.floor(world.clock.now().getTime() / DAY_MS);
    const startOf = (offset: number) => new Date((day + offset) * DAY_MS).toISOString();
    await world.store.transaction(async (db) => {
      for (const [index, digest] of digests.entries())
        await db
          .insertInto("tag_history")
          .values({ repo_uid: repo.uid, tag: "daily", digest, time: startOf(index - 2), actor: "" })
          .execute();
      const daily = db.selectFrom("matched_package").select("id").where("org_uid", "=", given.org).where("name", "=", "daily");
      await db.deleteFrom("finding").where("package_id", "in", daily).where("close_time", "is not", null).execute();
      await db
        .updateTable("finding")
        .set({ open_time: startOf(-2) })
        .where("package_id", "in", daily)
        .execute();
    });
    const counts = async (cumulative: boolean) =>
      (await world.must(listVulnerabilityCounts, { uid: repo.uid, tag: "daily", cumulative })).counts.map(
        ({ date, highCount, unknownCount }) => [Number(date?.seconds) / 86_400 - day, Number(highCount), Number(unknownCount)],
      );
    assert.deepEqual(await counts(false), [
      [-2, 1, 1],
      [-1, 0, 0],
      [0, 0, 0],
    ]);
    assert.deepEqual(await counts(true), [
      [-2, 1, 1],
      [-1, 1, 1],
      [0, 1, 1],
    ]);
    const references = [{ repo: repo.uid, tag: "daily" }];
    for (const [method, lists] of [
      [Vulnerabilities.method.listVulnCountReports, [["CVE-2024-3101"], [], []]],
      [Vulnerabilities.method.listCumulativeVulnCountReports, [["CVE-2024-3101"], ["CVE-2024-3101"], ["CVE-2024-3101"]]],
    ] as const) {
      const { items } = answerOf(await world.grpc.call(method, { references }, world.owner.token));
      assert.deepEqual(
        items.map(({ highCveIds }) => highCveIds),
        lists,
      );
      assert.ok((items[0]?.sizeBytes ?? 0n) > 0n);
      const rest = answerOf(await world.rest.call(method, { repo: repo.uid, tag: "daily" }, world.owner.token));
      assert.deepEqual(rest.items, items);
      // An image under two names has a count per day for each, under the name that the client knows.
      const name = `${(await world.must(ReposService.method.getRepo, { uid: repo.uid })).name}`;
      const path = `${(await world.must(GroupsService.method.getGroup, { uid: given.org })).name}/${name}`;
      const twice = [...references, { repo: path, tag: "daily" }, ...references];
      const both = answerOf(await world.grpc.call(method, { references: twice }, world.owner.token)).items;
      assert.deepEqual(
        both.map((item) => item.repo),
        items.flatMap(() => [repo.uid, path].sort()),
      );
      assert.deepEqual(
        both.filter((item) => item.repo === repo.uid),
        items,
      );
    }
  });

  test("counts of version 1 are refused above 100 references and 200,000 ids, where holt.v1 still counts", async () => {
    const { repo } = given;
    const FINDINGS = 600;
    const digest = await given.push(["plenty 1-r0"]);
    await given.settle();
    const startTime = new Date(world.clock.now().getTime() - 365 * DAY_MS);
    const before = new Date(startTime.getTime() - 30 * DAY_MS).toISOString();
    const detail = JSON.stringify({ aliases: [], advisories: [], cvss: [], fixed: [], fixState: "unknown" });
    await world.store.transaction(async (db) => {
      const { id } = await db
        .selectFrom("matched_package")
        .select("id")
        .where("org_uid", "=", given.org)
        .where("name", "=", "plenty")
        .executeTakeFirstOrThrow();
      await db.insertInto("tag_history").values({ repo_uid: repo.uid, tag: "plenty", digest, time: before, actor: "" }).execute();
      const rows = Array.from({ length: FINDINGS }, (_, index) => ({
        package_id: id,
        vulnerability: `CVE-2024-${10_000 + index}`,
        open_time: before,
        severity: 5,
        is_suppressed: 0,
        detail,
      }));
      for (let start = 0; start < FINDINGS; start += 200)
        await db
          .insertInto("finding")
          .values(rows.slice(start, start + 200))
          .execute();
    });
    const from = timestampFromText(startTime.toISOString());
    for (const cumulative of [false, true]) {
      const { counts } = await world.must(listVulnerabilityCounts, { uid: repo.uid, tag: "plenty", startTime: from, cumulative });
      assert.equal(counts.length, 366);
      assert.ok(counts.every(({ highCount }) => highCount === BigInt(FINDINGS)));
    }
    const reference = { repo: repo.uid, tag: "plenty" };
    for (const method of [Vulnerabilities.method.listVulnCountReports, Vulnerabilities.method.listCumulativeVulnCountReports]) {
      const count = async (filter: object) => world.grpc.call(method, filter, world.owner.token);
      assert.equal(answerOf(await count({ references: Array(100).fill(reference) })).items.length, 30);
      assert.equal(codeOf(await count({ references: Array(101).fill(reference) })), Code.INVALID_ARGUMENT);
      assert.equal(codeOf(await count({ references: [reference], from })), Code.RESOURCE_EXHAUSTED);
    }
  });

  test("many statements about a vulnerability of many packages take little CPU time, and the one that applies counts", async () => {
    const COUNT = 700;
    const names = Array.from({ length: COUNT }, (_, index) => `crowd-${index}`);
    const affected = names.map((name) => ({ ecosystem: "Wolfi", name, events: range("2-r0") }));
    await given.importAdvisories([osv("CVE-2024-4000", affected)]);
    const digest = await given.push(names.map((name) => `${name} 1-r0`));
    const { name: repoName } = await world.store.reader
      .selectFrom("repo")
      .select("name")
      .where("uid", "=", given.repo.uid)
      .executeTakeFirstOrThrow();
    const statement = (id: string, name: string, events: GivenAdvisory["events"]) => ({
      parent: given.org,
      id,
      name,
      type: "oci",
      aliases: ["CVE-2024-4000"],
      ...(events && { events }),
    });
    const time = "2024-03-01T00:00:00Z";
    await putAdvisories(
      world.store,
      // A fix in a version of the image suppresses nothing, as versions of images have no order.
      names.map((name, index) => statement(`CGA-${name}`, index % 2 === 0 ? "elsewhere" : repoName, [fixed(time, "2")])),
    );
    await putAdvisories(world.store, [statement("CGA-elsewhere", "elsewhere", [falsePositive(time)])]);
    await given.settle();
    const start = process.cpuUsage();
    const { totalCount, vulnerabilities } = await given.list(digest, { pageSize: 1 });
    const { user } = process.cpuUsage(start);
    assert.equal(totalCount, BigInt(COUNT));
    assert.equal(vulnerabilities[0]?.vulnerability?.suppression, undefined);
    assert.ok(user < 1_000_000, `${user} µs of CPU time`);
    await putAdvisories(world.store, [statement("CGA-here", repoName, [falsePositive(time)])]);
    const suppressed = await given.list(digest, { state: PackageVulnerability_State.SUPPRESSED, pageSize: 1 });
    assert.equal(suppressed.totalCount, BigInt(COUNT));
  });
});
