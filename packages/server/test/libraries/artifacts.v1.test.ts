import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Artifacts } from "@holt/api/gen/platform/libraries/v1/artifacts_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v1/entitlements_pb.ts";
import { ArtifactsService, Ecosystem as EcosystemV2 } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { newUid } from "../../src/lib/uid.ts";
import { answerOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertInvalid } from "../harness/refusal.ts";
import { basic } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const path = "/libraries/v1/artifacts";

describeWithWorld("the catalogue of libraries in version 1", (world) => {
  async function deploy(library: string, artifact: string, version: string): Promise<void> {
    const target = `/libraries/java/${library}/com/example/${artifact}/${version}/${artifact}-${version}.jar`;
    const headers = { authorization: basic("_token", world.token) };
    const answer = await fetch(world.baseUrl + target, { method: "PUT", headers, body: `${artifact} ${version}` });
    assert.equal(answer.status, 201, await answer.text());
  }
  /** @returns the group, and a reader of its catalogue */
  async function libraryOf(name: string, artifacts: Readonly<Record<string, readonly string[]>>) {
    const group = await world.group(world.orgUid, name);
    for (const [artifact, versions] of Object.entries(artifacts))
      for (const version of versions) await deploy(`my-org:${name}`, artifact, version);
    return { group, reader: await world.robot(group, [Capability.CAP_LIBRARIES_ARTIFACTS_LIST]) };
  }
  const get = async (uri: string, token: string) => parse((await world.raw("GET", uri, undefined, token)).text);

  it("artifacts have the same values in both versions, in pages", async () => {
    const { reader } = await libraryOf("pages", { alpha: ["1.0", "1.1"], beta: ["1.0"], gamma: ["1.0"] });
    const request = { ecosystems: [EcosystemV2.JAVA] };
    const v2 = (await world.must(ArtifactsService.method.listArtifacts, request, reader.token)).artifacts;
    const first = await get(`${path}?ecosystems=JAVA&page_size=2`, reader.token);
    assert.deepEqual([first.totalArtifacts, first.skipped], [3, 0]);
    const second = await get(`${path}?ecosystems=JAVA&page_size=2&page_token=${textOf(first.nextPageToken)}`, reader.token);
    const items = [...(first.items as JsonObject[]), ...(second.items as JsonObject[])];
    assert.deepEqual(
      items.map(({ id, name, ecosystem, latestVersion, versionCount }) => [id, name, ecosystem, latestVersion, versionCount]),
      v2.map(({ uid, name, latestVersion, versionCount }) => [uid, name, "JAVA", latestVersion, versionCount]),
    );
    const times = await get("/libraries/v2/artifacts?ecosystems=ECOSYSTEM_JAVA", reader.token);
    assert.deepEqual(
      items.map(({ createdAt, updatedAt }) => [createdAt, updatedAt]),
      (times.artifacts as JsonObject[]).map(({ createTime, updateTime }) => [createTime, updateTime]),
    );
    const { items: found } = await get(`${path}?ecosystems=JAVA&ecosystems=GO&query=ALPH`, reader.token);
    assert.deepEqual(
      (found as JsonObject[]).map(({ name }) => name),
      ["com.example:alpha"],
    );
  });

  it("all versions of an artifact are listed, newest first, with their source", async () => {
    const { reader } = await libraryOf("versions", { alpha: ["1.0", "1.10", "1.9", "1.9-holt-1"] });
    const { items } = await get(`${path}?ecosystems=JAVA`, reader.token);
    const [artifact] = items as JsonObject[];
    const id = textOf(artifact?.id);
    const versions = (await get(`${path}/${encodeURIComponent(id)}/versions`, reader.token)).items as JsonObject[];
    assert.deepEqual(
      versions.map((version) => [version.version, version.id, version.sourceType, version.malwareScanned]),
      [
        ["1.10", `${id}:1.10:INTERNAL`, "SOURCE_TYPE_INTERNAL", false],
        ["1.9-holt-1", `${id}:1.9-holt-1:INTERNAL_REMEDIATED`, "SOURCE_TYPE_INTERNAL_REMEDIATED", false],
        ["1.9", `${id}:1.9:INTERNAL`, "SOURCE_TYPE_INTERNAL", false],
        ["1.0", `${id}:1.0:INTERNAL`, "SOURCE_TYPE_INTERNAL", false],
      ],
    );
    assert.deepEqual([versions[0]?.name, versions[0]?.sizeBytes], ["com.example:alpha", String("alpha 1.10".length)]);
    const overGrpc = answerOf(await world.grpc.call(Artifacts.method.listVersions, { id }, reader.token));
    assert.equal(overGrpc.items.length, 4);
    for (const unknown of [newUid(world.orgUid), "nonsense"])
      assert.deepEqual(await get(`${path}/${encodeURIComponent(unknown)}/versions`, reader.token), { items: [] });
    const stranger = await world.user();
    assert.deepEqual(await get(`${path}/${encodeURIComponent(id)}/versions`, stranger.token), { items: [] });
  });

  it("counts and lists answer for every ecosystem of version 1, and refuse none and unknown ones", async () => {
    const { reader } = await libraryOf("counts", { alpha: ["1.0"], beta: ["1.0"] });
    for (const client of world.clients) {
      const ecosystems = [Ecosystem.GO, Ecosystem.JAVA, Ecosystem.PYTHON];
      const { counts } = answerOf(await client.call(Artifacts.method.getArtifactCount, { ecosystems }, reader.token));
      assert.deepEqual(
        counts.map(({ ecosystem, totalArtifacts }) => [ecosystem, totalArtifacts]),
        [
          [Ecosystem.GO, 0],
          [Ecosystem.JAVA, 2],
          [Ecosystem.PYTHON, 0],
        ],
      );
      const none = answerOf(await client.call(Artifacts.method.list, { ecosystems: [Ecosystem.JAVASCRIPT] }, reader.token));
      assert.deepEqual([none.items, none.totalArtifacts], [[], 0]);
    }
    for (const query of ["", "ecosystems=UNKNOWN"]) {
      assertInvalid(await world.raw("GET", `${path}?${query}`), "ecosystems");
      assertInvalid(await world.raw("GET", `${path}/count?${query}`), "ecosystems");
    }
  });
});
