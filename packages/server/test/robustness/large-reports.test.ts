/** Reads reports of an image with nearly as many findings as a report may have. Other requests run meanwhile. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, type DescMethodUnary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { VulnerabilitiesService } from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { Vulnerabilities } from "@holt/api/gen/platform/registry/v1/vulnerabilities_pb.ts";
import { sql } from "kysely";
import { createFindingsWorld, type FindingsWorld } from "../harness/advisories/findings-world.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { type MeteredClient, type MeteredRequest, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const PACKAGES = 1900;
const FINDINGS_PER_PACKAGE = 10;
const ROWS_PER_STATEMENT = 500;

describeWithWorld("reports of an image with 19,000 findings", (world) => {
  let findings: FindingsWorld;
  let client: MeteredClient;
  let digest: string;
  before(async () => {
    client = startMeteredClient(world.baseUrl, world.token);
    findings = await createFindingsWorld(world);
    digest = await findings.push(Array.from({ length: PACKAGES }, (_, i) => `package${i} 1-r0`));
    await findings.settle();
    await fillFindings(world, findings.org);
    await world.store.transaction(async (db) => void (await sql`analyze`.execute(db)));
  });
  after(async () => {
    findings[Symbol.dispose]();
    await client[Symbol.asyncDispose]();
  });

  test("reports of many findings let other requests run, over REST and gRPC", async () => {
    const { uid } = findings.repo;
    const requests: MeteredRequest[] = [
      { method: "GET", path: `/registry/v1/repos/${uid}/digests/${digest}/vulnreport` },
      { method: "GET", path: `/registry/v1/vuln_reports/raw?digest=${digest}` },
      { method: "GET", path: `/registry/v1/vuln_reports?digest=${digest}` },
      { method: "GET", path: `/holt/v1/repos/${uid}/digests/${digest}/vulnerabilities` },
      grpc(Registry.method.getVulnReport, { repoId: uid, digest }),
      grpc(Vulnerabilities.method.getRawVulnReport, { digest }),
      grpc(Vulnerabilities.method.listVulnReports, { digest }),
      grpc(VulnerabilitiesService.method.listImageVulnerabilities, { uid, digest }),
    ];
    for (const request of requests) {
      const { status, text } = await assertYielding(request.path, () => client.send(request));
      assert.equal(status, 200, text);
    }
  });
});

function grpc<M extends DescMethodUnary>(method: M, request: MessageInitShape<M["input"]>): MeteredRequest {
  const body = toBinary(method.input, create(method.input, request));
  return { method: "POST", path: `/${method.parent.typeName}/${method.name}`, body, isGrpc: true };
}

/** Stores findings as a comparison would. */
async function fillFindings({ store }: World, org: string): Promise<void> {
  const packages = await store.reader.selectFrom("matched_package").select("id").where("org_uid", "=", org).execute();
  const rows = packages.flatMap(({ id }, at) =>
    Array.from({ length: FINDINGS_PER_PACKAGE }, (_, i) => findingOf(id, `CVE-2024-${10_000 + at * FINDINGS_PER_PACKAGE + i}`)),
  );
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT)
    await store.transaction(async (db) => {
      const some = rows.slice(start, start + ROWS_PER_STATEMENT);
      await db
        .insertInto("finding")
        .values(some.map(({ finding }) => finding))
        .execute();
      await db
        .insertInto("vulnerability")
        .values(some.map(({ record }) => record))
        .execute();
    });
}

function findingOf(package_id: number, id: string) {
  const detail = {
    aliases: [`GHSA-${id}`],
    advisories: [{ uid: id, id: `CGA-${id}` }],
    cvss: [{ type: "TYPE_CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N" }],
    fixed: ["2-r0"],
    fixState: "fixed",
  };
  const body = {
    id,
    summary: `about ${id}`,
    details: "x".repeat(200),
    references: [{ type: "TYPE_WEB", url: `https://example.com/${id}` }],
  };
  const time = "2024-01-01T00:00:00.000Z";
  const row = { severity: 3 + (Number(id.at(-1)) % 4), is_suppressed: 0, detail: JSON.stringify(detail) };
  return {
    finding: { package_id, vulnerability: id, open_time: time, ...row },
    record: { id, update_time: time, modified_time: time, severities: "[]", body: JSON.stringify(body) },
  };
}
