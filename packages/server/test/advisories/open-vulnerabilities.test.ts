/** Tests which vulnerabilities the server finds in images, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { fixed, putAdvisories } from "../harness/advisories/advisories.ts";
import {
  CRITICAL,
  createFindingsWorld,
  criticalEvents,
  type FindingsWorld,
  osv,
  rangeBefore,
  wolfi,
} from "../harness/advisories/findings-world.ts";
import { lastSeq } from "../harness/outbox.ts";
import { DPKG, layerOf, osRelease, RPM, rpmDatabase, rpmHeader } from "../harness/registry/image-content.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("open vulnerabilities of images", (world) => {
  let given: FindingsWorld;
  before(async () => {
    given = await createFindingsWorld(world);
  });
  after(() => given[Symbol.dispose]());

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
    await given.importAdvisories([osv("CVE-2024-1009", [{ ecosystem: "Wolfi", name: "listed", events: rangeBefore("2.0-r0"), versions }])]);
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
    const [first, ...others] = await criticalEvents(world, given, start);
    assert.deepEqual(others, []);
    assert.deepEqual([first?.digest, first?.repo_id, first?.vulnerabilities], [digest, given.repo.uid, [vulnerability]]);
    // Another advisory about the same vulnerability announces nothing.
    await given.importAdvisories([wolfi("CGA-1001", "busybox", "1.36.1-r0", { aliases: ["CVE-2024-1001"] })]);
    await given.settle();
    assert.equal((await criticalEvents(world, given, start)).length, 1);
    const second = await given.push(["busybox 1.36.0-r0", "other 1"]);
    await given.settle();
    assert.deepEqual(
      (await criticalEvents(world, given, start)).map((event) => event.digest),
      [digest, second],
    );
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
    const debian = (id: string, name: string, fixed: string) => osv(id, [{ ecosystem: "Debian:12", name, events: rangeBefore(fixed) }]);
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
      osv("CVE-2024-2101", [{ ecosystem: "openSUSE:Tumbleweed", name: "zlib", events: rangeBefore("1.3-1") }]),
      osv("CVE-2024-2102", [{ ecosystem: "openSUSE:Leap 15.6", name: "zlib", events: rangeBefore("1.3-1") }]),
    ]);
    assert.deepEqual(await given.found(leap), ["CVE-2024-2102 zlib 1.2-1 UNKNOWN OPEN"]);
    assert.deepEqual(await given.found(tumbleweed), ["CVE-2024-2101 zlib 1.2-1 UNKNOWN OPEN"]);
  });

  test("an advisory about one service pack of SUSE Linux Enterprise says nothing about images of the others", async () => {
    const [sp4, sp5] = [await pushZlib("sles", "15.4"), await pushZlib("sles", "15.5")];
    const about = (id: string, product: string) => osv(id, [{ ecosystem: `SUSE:${product}`, name: "zlib", events: rangeBefore("1.3-1") }]);
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
      osv("GHSA-aaaa-aaaa-aaaa", [{ ecosystem: "PyPI", name: "django-storages", events: rangeBefore("2.0") }], {
        aliases: ["CVE-2024-1004"],
      }),
      semver("GO-2024-1", "Go", "golang.org/x/net", rangeBefore("0.7.1")),
      semver("GHSA-bbbb-bbbb-bbbb", "npm", "@scope/left", [...rangeBefore("1.0.5"), { introduced: "2.0.0" }, { fixed: "2.0.2" }]),
      osv("GHSA-cccc-cccc-cccc", [{ ecosystem: "Maven", name: "org.a:b", events: rangeBefore("1.0") }]),
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
    const python = (id: string, name: string) => osv(id, [{ ecosystem: "PyPI", name, events: rangeBefore("3.5") }]);
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

  test("a record that its source changed replaces the ranges of the one before", async () => {
    const digest = await given.push(["moving 1.5-r0"]);
    await given.importAdvisories([wolfi("CVE-2024-1008", "moving", "1.4-r0")]);
    assert.deepEqual(await given.found(digest), []);
    await given.importAdvisories([wolfi("CVE-2024-1008", "moving", "1.6-r0", { modified: "2024-02-02T00:00:00Z" })]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1008 moving 1.5-r0 UNKNOWN OPEN"]);
    await given.importAdvisories([wolfi("CVE-2024-1008", "moving", "1.4-r0")]);
    assert.deepEqual(await given.found(digest), ["CVE-2024-1008 moving 1.5-r0 UNKNOWN OPEN"]);
  });

  test("an import that has a record in two states takes the ranges of the later one", async () => {
    const digest = await given.push(["corrected 1.5-r0"]);
    const earlier = wolfi("CVE-2024-1016", "corrected", "1.6-r0");
    const later = wolfi("CVE-2024-1016", "corrected", "1.4-r0", { modified: "2024-02-02T00:00:00Z" });
    await given.importAdvisories([later, earlier]);
    assert.deepEqual(await given.found(digest), []);
  });
});
