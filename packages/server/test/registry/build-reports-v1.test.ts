/** Tests the build reports of version 1 of the API, which come from pushed provenance, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { BuildReport_Result, type BuildReportFilterSchema, Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { parentOf } from "../../src/lib/uid.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { envelope, layerOf, statement } from "../harness/registry/image-content.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listBuildReports, getBuildStatus } = Registry.method;
const IN_TOTO = "application/vnd.in-toto+json";
const DSSE = "application/vnd.dsse.envelope.v1+json";
const V1 = "https://slsa.dev/provenance/v1";
const V02 = "https://slsa.dev/provenance/v0.2";
const UNKNOWN = `sha256:${"2".repeat(64)}`;
const HOUR_MS = 3_600_000;

describeWithWorld("build reports of version 1", (world) => {
  let repo: ImageRepo;
  let group: string;
  before(async () => {
    group = await world.group(world.orgUid, "builds");
    repo = await createImageRepo(world, world.token, group);
  });
  after(() => repo[Symbol.dispose]());

  const ago = (hours: number) => new Date(world.clock.now().getTime() - hours * HOUR_MS).toISOString();
  const image = async (layer: string) => repo.push([await layerOf({ a: layer })]);
  const version1 = (startedOn: string | undefined, fields: object = {}) => ({
    buildDefinition: {
      buildType: "https://example.com/build",
      externalParameters: { config: "app.yaml" },
      resolvedDependencies: [{ uri: "pkg:apk/musl@1" }],
    },
    runDetails: { builder: { id: "builder", version: { apko: "0.30.1" } }, metadata: { startedOn, finishedOn: ago(0) }, ...fields },
  });
  const list = async (filter: MessageInitShape<typeof BuildReportFilterSchema>, token = world.token) =>
    (await world.must(listBuildReports, filter, token)).reports;

  test("provenance that is attached to an image is a report, in versions 0.2 and 1", async () => {
    const built = await image("one");
    await repo.pushArtifact([[statement(V1, version1(ago(2)), built.digest), IN_TOTO]], { subject: built });
    const older = { invocation: { parameters: { a: "b" } }, materials: [], metadata: { buildStartedOn: ago(3) } };
    const attested = envelope(statement(V02, older, built.digest));
    await repo.pushArtifact([[attested, DSSE]], {}, `${built.digest.replace(":", "-")}.att`);
    for (const client of world.clients) {
      const filter = { uidp: { descendantsOf: group } };
      const { reports } = answerOf(await client.call(listBuildReports, filter, world.token));
      const [first, second, ...more] = reports;
      assert.ok(first && second);
      assert.equal(more.length, 0);
      assert.equal(parentOf(first.id), repo.uid);
      assert.deepEqual(
        [first.digest, first.result, first.mediaType, first.apkoVersion, first.config, first.lockedConfig, first.log],
        [built.digest, BuildReport_Result.Success, IN_TOTO, "0.30.1", '{"config":"app.yaml"}', '[{"uri":"pkg:apk/musl@1"}]', ""],
      );
      assert.deepEqual(first.startedAt, { ...timestampFromDate(new Date(ago(2))) });
      assert.ok(first.completedAt);
      assert.deepEqual([second.mediaType, second.config, second.lockedConfig], [DSSE, '{"parameters":{"a":"b"}}', "[]"]);
      assert.equal(second.completedAt, undefined);
      assert.deepEqual(answerOf(await client.call(getBuildStatus, filter, world.token)).failures, []);
    }
  });

  test("reports are limited to the last day, a time window, a number and a place, the newest first", async () => {
    using other = await createImageRepo(world, world.token, await world.group(group, "two"));
    const built = await other.push([await layerOf({ a: "two" })]);
    for (const hours of [1, 20, 30, 50, 70])
      await other.pushArtifact([[statement(V1, version1(ago(hours)), built.digest), IN_TOTO]], { subject: built });
    const uidp = { childrenOf: other.uid };
    const hoursOf = (reports: Awaited<ReturnType<typeof list>>) =>
      reports.map(({ startedAt }) => Math.round((world.clock.now().getTime() / 1000 - Number(startedAt?.seconds ?? 0n)) / 3600));
    assert.deepEqual(hoursOf(await list({ uidp })), [1, 20]);
    const at = (hours: number) => timestampFromDate(new Date(ago(hours)));
    assert.deepEqual(hoursOf(await list({ uidp, startedSince: at(60) })), [1, 20, 30, 50]);
    assert.deepEqual(hoursOf(await list({ uidp, startedSince: at(70), startedBefore: at(30) })), [50, 70]);
    assert.deepEqual(hoursOf(await list({ uidp, startedBefore: at(40) })), [50]);
    assert.deepEqual(hoursOf(await list({ uidp, startedSince: at(100), pageSize: 2 })), [1, 20]);
    const [newest] = await list({ uidp });
    assert.deepEqual(
      (await list({ uidp: { ids: [newest?.id ?? "", UNKNOWN] } })).map(({ id }) => id),
      [newest?.id],
    );
    for (const nothing of [{ childrenOf: group }, { childrenOf: "unknown" }, { ids: ["x"] }, { inRoot: true }])
      assert.deepEqual(await list({ uidp: nothing }), []);
    const refused = await world.rest.call(listBuildReports, { pageSize: -1 }, world.token);
    assert.equal(codeOf(refused), Code.INVALID_ARGUMENT);
  });

  test("a reply with large reports ends with the report that still fits", async () => {
    using other = await createImageRepo(world, world.token, await world.group(group, "large"));
    const built = await other.push([await layerOf({ a: "large" })]);
    const config = "é".repeat(15_000);
    for (let i = 0; i < 40; i++) {
      const large = { ...version1(ago(i / 10)), buildDefinition: { externalParameters: { config } } };
      await other.pushArtifact([[statement(V1, large, built.digest), IN_TOTO]], { subject: built });
    }
    const uidp = { childrenOf: other.uid };
    const reports = await list({ uidp });
    const [first] = reports;
    const times = reports.map(({ startedAt }) => Number(startedAt?.seconds));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
    assert.equal(times[0], Math.floor(world.clock.now().getTime() / 1000));
    assert.ok(first !== undefined && reports.length > 30 && reports.length < 36, String(reports.length));
  });

  test("a caller sees the reports of the groups where it holds the capability", async () => {
    const robot = await world.robot(group, [Capability.CAP_BUILD_REPORT_LIST]);
    const elsewhere = await world.robot(await world.group(world.orgUid), [Capability.CAP_BUILD_REPORT_LIST]);
    const without = await world.robot(group, [Capability.CAP_REPO_LIST]);
    assert.ok((await list({}, robot.token)).length > 0);
    for (const { token } of [elsewhere, without]) assert.deepEqual(await list({}, token), []);
  });

  test("build reports ignore statements about other images, of other types or without times", async () => {
    using other = await createImageRepo(world, world.token, await world.group(group, "three"));
    const built = await other.push([await layerOf({ a: "three" })]);
    const attach = (content: string) => other.pushArtifact([[content, IN_TOTO]], { subject: built });
    const contents = [
      "not JSON",
      "[]",
      "{}",
      statement(V1, version1(ago(1)), UNKNOWN),
      statement("https://spdx.dev/Document", {}, built.digest),
      statement(V1, "text", built.digest),
      statement(`${V1}0`, version1(ago(1)), built.digest),
      `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    ];
    for (const content of contents) await attach(content);
    const uidp = { childrenOf: other.uid };
    assert.deepEqual(await list({ uidp }), []);
    await attach(statement(V1, version1("yesterday", { metadata: {} }), built.digest));
    await attach(statement(V1, version1("+012345-01-01T00:00:00Z", { metadata: { startedOn: "\u0000" } }), built.digest));
    const big = { buildDefinition: { externalParameters: "x".repeat(100_000), resolvedDependencies: "\u0000" }, runDetails: {} };
    await attach(statement(V1, big, built.digest));
    const found = await list({ uidp });
    assert.deepEqual(found.map(({ config }) => config.length > 0).sort(), [false, true, true]);
    assert.ok(found.every(({ startedAt }) => startedAt !== undefined));
  });
});
