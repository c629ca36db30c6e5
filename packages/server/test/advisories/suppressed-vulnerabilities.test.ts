/** Tests which statements of advisories suppress vulnerabilities of images, and whose count, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PackageVulnerability_State } from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { falsePositive, fixed, type GivenAdvisory, putAdvisories } from "../harness/advisories/advisories.ts";
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
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("suppressed vulnerabilities of images", (world) => {
  let given: FindingsWorld;
  before(async () => {
    given = await createFindingsWorld(world);
  });
  after(() => given[Symbol.dispose]());

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
    const announced = async () => (await criticalEvents(world, given, start)).map((event) => [event.digest, event.vulnerability_count]);
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

  test("many statements about a vulnerability of many packages take little CPU time, and the one that applies counts", async () => {
    const COUNT = 700;
    const names = Array.from({ length: COUNT }, (_, index) => `crowd-${index}`);
    const affected = names.map((name) => ({ ecosystem: "Wolfi", name, events: rangeBefore("2-r0") }));
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
    assert.ok(user < 3_000_000, `${user} µs of CPU time`);
    await putAdvisories(world.store, [statement("CGA-here", repoName, [falsePositive(time)])]);
    const suppressed = await given.list(digest, { state: PackageVulnerability_State.SUPPRESSED, pageSize: 1 });
    assert.equal(suppressed.totalCount, BigInt(COUNT));
  });
});
