/** Feeds comparisons with versions and advisories that are slow or large. Other requests run meanwhile, in little memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { createFindingsWorld, type FindingsWorld, osv } from "../harness/advisories/findings-world.ts";
import { answerOf } from "../harness/clients.ts";
import { cpuTime } from "../harness/cpu-cost.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { collectGarbage } from "../harness/robustness/garbage.ts";
import { describeWithWorld } from "../harness/world.ts";

const MEDIA_TYPE = "application/vnd.cyclonedx+json";
const MIB = 1024 * 1024;
const MAX_MEMORY_MB = 64;

/** Maven versions are the slowest to compare: each change between digits and letters begins a list in a list. */
function longVersion(i: number): string {
  return `1${"a1".repeat(115)}.${i}`;
}

function notAffected(name: string, product: string): object {
  const statement = {
    vulnerability: { name },
    products: [{ "@id": product }],
    status: "not_affected",
    justification: "component_not_present",
  };
  return { "@context": "https://openvex.dev/ns/v0.2.0", timestamp: "2026-01-01T00:00:00Z", statements: [statement] };
}

/** MiB that the heap grows by at most. Most of the time is the work's, however long a collection of garbage takes. */
async function memoryDuring(work: () => Promise<void>): Promise<number> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let most = 0;
  let timer: NodeJS.Timeout;
  const measure = () => {
    const begun = cpuTime();
    collectGarbage();
    most = Math.max(most, process.memoryUsage().heapUsed - before);
    timer = setTimeout(measure, Math.max(100, 4 * (cpuTime() - begun)));
  };
  timer = setTimeout(measure, 100);
  await work().finally(() => clearTimeout(timer));
  return Math.round(most / MIB);
}

async function pushSbom(world: FindingsWorld, purls: readonly string[]): Promise<string> {
  const components = purls.map((purl) => ({ type: "library", name: "a", purl }));
  const sbom = JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.5", components });
  const { digest } = await world.repo.pushArtifact([[sbom, MEDIA_TYPE]]);
  await world.repo.read(digest);
  return digest;
}

describeWithWorld("hostile versions and advisories", (world) => {
  test("comparing packages with advisories of many versions lets other requests run", async () => {
    using findings = await createFindingsWorld(world);
    const events = Array.from({ length: 500 }, (_, i) => ({
      [i % 2 === 0 ? "introduced" : "last_affected"]: longVersion((i * 7919) % 500),
    }));
    const ids = Array.from({ length: 20 }, (_, i) => `CVE-2024-${1000 + i}`);
    await findings.importAdvisories(ids.map((id) => osv(id, [{ ecosystem: "Maven", name: "g:x", events }])));
    const purls = [1, 2].map((i) => `pkg:maven/g/x@${longVersion(i)}`);
    const digest = await assertYielding("advisories", async () => {
      const pushed = await pushSbom(findings, purls);
      await findings.settle();
      return pushed;
    });
    const { totalCount } = await findings.list(digest);
    assert.ok(totalCount > 0n, "nothing was compared");
  });

  test("the versions of a package let other requests run while they are sorted", async () => {
    using findings = await createFindingsWorld(world);
    await pushSbom(
      findings,
      Array.from({ length: 2000 }, (_, i) => `pkg:maven/g/many@${longVersion((i * 7919) % 2000)}`),
    );
    await findings.settle();
    const request = { package: "g:many" };
    const { versions, latestVersion } = await assertYielding("versions", async () =>
      answerOf(await world.rest.call(Registry.method.getPackageVersionMetadata, request, world.token)),
    );
    assert.deepEqual([versions.length, latestVersion], [2000, longVersion(1999)]);
  });

  test("findings of advisories that name each other's vulnerabilities have a bounded size, and finding them lets other requests run", async () => {
    using findings = await createFindingsWorld(world);
    const cves = Array.from({ length: 50 }, (_, i) => `CVE-2024-${1000 + i}`);
    const aliasesOf = (id: string) => [...cves, ...Array.from({ length: 49 }, (_, i) => `${id}-${i}-`.padEnd(120, "x"))];
    const ids = Array.from({ length: 300 }, (_, i) => `GHSA-own-${i}`);
    await findings.importAdvisories(
      ids.map((id) => osv(id, [{ ecosystem: "npm", name: "x", events: [{ introduced: "0" }] }], { aliases: aliasesOf(id) })),
    );
    const digest = await assertYielding("aliases", async () => {
      const pushed = await pushSbom(findings, ["pkg:npm/x@1.0"]);
      await findings.settle();
      return pushed;
    });
    const { vulnerabilities } = await findings.list(digest, { pageSize: 200 });
    assert.equal(vulnerabilities.length, cves.length);
    for (const { vulnerability } of vulnerabilities) {
      const { aliases = [], advisoryUids = [] } = vulnerability ?? {};
      assert.deepEqual(aliases.slice(0, 2), cves.filter((cve) => cve !== vulnerability?.vulnerabilityId).slice(0, 2));
      for (const list of [aliases, advisoryUids]) assert.ok(list.length > 10 && list.join("").length <= 4096, `${list.length}`);
    }
  });

  test("vulnerabilities with many aliases are listed in an organization with many advisories while other requests run", async () => {
    using findings = await createFindingsWorld(world);
    const of = (id: string, name: string, aliases: readonly string[]) =>
      osv(id, [{ ecosystem: "npm", name, events: [{ introduced: "0" }] }], { aliases });
    const aliasesOf = (id: string) => Array.from({ length: 99 }, (_, i) => `${id}-${i}`);
    await findings.importAdvisories(Array.from({ length: 2000 }, (_, i) => of(`OTHER-${i}`, `other${i}`, [])));
    await findings.importAdvisories(Array.from({ length: 100 }, (_, i) => of(`GHSA-${i}`, "x", aliasesOf(`A${i}`))));
    const digest = await pushSbom(findings, ["pkg:npm/x@1.0"]);
    await findings.settle();
    const { totalCount } = await assertYielding("a list", () => findings.list(digest, { pageSize: 1 }));
    assert.equal(totalCount, 100n);
  });

  test("comparing a package with many large advisories takes little memory", async () => {
    using findings = await createFindingsWorld(world);
    const versions = Array.from({ length: 5000 }, (_, i) => String(i).padStart(26, "v"));
    for (let first = 1000; first < 1600; first += 50) {
      const ids = Array.from({ length: 50 }, (_, i) => `CVE-2025-${first + i}`);
      await findings.importAdvisories(ids.map((id) => osv(id, [{ ecosystem: "RubyGems", name: "large", events: [], versions }])));
    }
    const most = await memoryDuring(async () => {
      await pushSbom(findings, ["pkg:gem/large@vvv"]);
      await findings.settle();
    });
    assert.ok(most < MAX_MEMORY_MB, `${most} MiB`);
  });

  test("comparing many versions of a package with many advisories takes little memory", async () => {
    using findings = await createFindingsWorld(world);
    await findings.importAdvisories(Array.from({ length: 200 }, (_, i) => notAffected(`CVE-2026-${1000 + i}`, "pkg:npm/versions")));
    const versions = Array.from({ length: 1500 }, (_, i) => `pkg:npm/versions@1.0.${i}`);
    const most = await memoryDuring(async () => {
      await pushSbom(findings, versions);
      await findings.settle();
    });
    assert.ok(most < MAX_MEMORY_MB / 2, `${most} MiB`);
  });
});
