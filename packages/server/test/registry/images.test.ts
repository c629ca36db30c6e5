import assert from "node:assert/strict";
import { before, it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ImagesService } from "@holt/api/gen/platform/registry/v2/images_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { describeWithWorld } from "../harness/world.ts";

const { getArchitectures, getSize } = ImagesService.method;
const digest = `sha256:${"1".repeat(64)}`;
const unknown = `sha256:${"2".repeat(64)}`;

describeWithWorld("images", (world) => {
  let repoUid: string;
  before(async () => {
    repoUid = (await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: "nginx" } })).uid;
    // The rows that a push of an index writes.
    await world.store.transaction(async (db) => {
      const manifest = {
        media_type: "",
        artifact_type: null,
        subject: null,
        size: 2,
        create_time: "",
        touch_time: "",
        annotations: null,
      };
      await db
        .insertInto("manifest")
        .values({ repo_uid: repoUid, digest, ...manifest, content: Buffer.from("{}") })
        .execute();
      const image = (architecture: string, variant: string, os: string, size: number) => ({
        repo_uid: repoUid,
        digest,
        architecture,
        variant,
        os,
        size,
        manifest_digest: unknown,
        config_digest: unknown,
      });
      await db
        .insertInto("image")
        .values([
          image("arm64", "v8", "linux", 5_000_000_000),
          image("amd64", "", "freebsd", 1),
          image("amd64", "", "linux", 1234),
          image("arm", "v6", "linux", 6),
          image("arm", "v7", "linux", 7),
        ])
        .execute();
    });
  });

  it("an image lists each of its architectures once", async () => {
    for (const client of world.clients) {
      const { architectures } = answerOf(await client.call(getArchitectures, { repoUid, digest }, world.owner.token));
      assert.deepEqual(architectures, ["amd64", "arm", "arm64"]);
    }
  });

  it("an image has a size per architecture, for amd64 by default", async () => {
    for (const client of world.clients) {
      for (const [architecture, expected] of [
        ["", 1234n],
        ["amd64", 1234n],
        ["arm64", 5_000_000_000n],
        ["arm", 6n],
      ] as const) {
        const size = answerOf(await client.call(getSize, { repoUid, digest, architecture }, world.owner.token));
        assert.deepEqual([size.size, size.architecture], [expected, architecture || "amd64"]);
      }
    }
    const { text } = await world.raw("GET", `/registry/v2/repos/${repoUid}/digests/${digest}/size?architecture=arm64`);
    assert.equal(text, '{"size":"5000000000","architecture":"arm64"}');
  });

  it("unknown images and architectures are not found", async () => {
    for (const client of world.clients) {
      for (const outcome of [
        await client.call(getArchitectures, { repoUid, digest: unknown }, world.owner.token),
        await client.call(getSize, { repoUid, digest: unknown }, world.owner.token),
        await client.call(getSize, { repoUid, digest: "nonsense" }, world.owner.token),
        await client.call(getSize, { repoUid, digest, architecture: "s390x" }, world.owner.token),
        await client.call(getSize, { repoUid: `${world.orgUid}/0123456789abcdef`, digest }, world.owner.token),
      ]) {
        const { code, details } = errorOf(outcome);
        assert.equal(code, Code.NOT_FOUND);
        const info = details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.ResourceInfo");
        assert.equal(info?.resourceType, "registry.holt.dev/Image");
      }
    }
  });

  it("reading images needs repo.list and manifest.metadata.list", async () => {
    const half = await world.robot(world.orgUid, [Capability.CAP_REPO_LIST]);
    const whole = await world.robot(world.orgUid, [Capability.CAP_REPO_LIST, Capability.CAP_MANIFEST_METADATA_LIST]);
    for (const client of world.clients) {
      assert.equal(codeOf(await client.call(getSize, { repoUid, digest }, half.token)), Code.PERMISSION_DENIED);
      assert.equal(codeOf(await client.call(getSize, { repoUid, digest }, whole.token)), 0);
    }
  });
});
