/** Layers, comparisons, and what a deletion removes. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { ImageContentsService } from "@holt/api/gen/holt/v1/image_contents_pb.ts";
import { ImagePackagesService } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { errorOf } from "../harness/clients.ts";
import { APK, apkDatabase, layerOf } from "../harness/registry/image-content.ts";
import { basic, CONFIG, createRegistryClient, INDEX, LAYER, MANIFEST } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const { getImageContents, compareImages, previewDeletion, deleteImage } = ImageContentsService.method;

describeWithWorld("contents of images", (world) => {
  let client: ReturnType<typeof createRegistryClient>;
  before(() => {
    client = createRegistryClient(world.baseUrl, basic("_token", world.owner.token));
  });
  after(() => client[Symbol.dispose]());

  let names = 0;
  const newRepo = async () =>
    (await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: `contents-${++names}` } })).uid;

  interface Image {
    readonly architecture?: string;
    /** Lines of the package database: "zlib 1.2-r0". */
    readonly packages?: readonly string[];
    readonly tag?: string;
    /** The layer in place of one with the packages: the archive of the same packages may differ. */
    readonly content?: Buffer;
  }

  /** An image of one layer. */
  async function push(uid: string, { architecture = "amd64", packages = ["zlib 1-r0"], tag, content }: Image = {}) {
    const config = await client.blob(uid, JSON.stringify({ os: "linux", architecture }), CONFIG);
    const layer = await client.blob(uid, content ?? (await layerOf({ [APK]: apkDatabase(...packages) })), LAYER);
    const manifest = await client.manifest(uid, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] }, tag);
    return { ...manifest, config, layer };
  }

  it("the platforms of an index have their sizes and layers", async () => {
    const uid = await newRepo();
    const amd = await push(uid, { packages: ["a 1-r0"] });
    const arm = await push(uid, { architecture: "arm64", packages: ["b 1-r0"] });
    const manifests = [amd, arm].map(({ digest, size, mediaType }) => ({ digest, size, mediaType }));
    const index = await client.manifest(uid, { schemaVersion: 2, mediaType: INDEX, manifests }, "v1");
    const { platforms } = await world.must(getImageContents, { uid, digest: index.digest });
    assert.deepEqual(
      platforms.map(({ os, architecture, digest, configDigest, sizeBytes, layers }) => [
        `${os}/${architecture}`,
        ...[digest, configDigest, sizeBytes],
        layers.map((layer) => [layer.digest, layer.sizeBytes]),
      ]),
      [amd, arm].map(({ digest, config, layer }, at) => [
        ["linux/amd64", "linux/arm64"][at],
        ...[digest, config.digest, BigInt(config.size + layer.size)],
        [[layer.digest, BigInt(layer.size)]],
      ]),
    );
    const unknown = await world.rest.call(getImageContents, { uid, digest: `sha256:${"0".repeat(64)}` }, world.owner.token);
    assert.equal(errorOf(unknown).code, Code.NOT_FOUND);
  });

  it("two images are compared by their packages", async () => {
    const uid = await newRepo();
    const [old, now] = [
      await push(uid, { packages: ["zlib 1.2-r0", "old 1-r0"] }),
      await push(uid, { packages: ["zlib 1.3-r0", "new 2-r0"] }),
    ];
    for (const { digest } of [old, now])
      await until(async () => (await world.must(ImagePackagesService.method.listImagePackages, { uid, digest })).packages.length === 2);
    const { differences, totalCount, isIncomplete } = await world.must(compareImages, { uid, digest: now.digest, before: old.digest });
    assert.deepEqual(
      differences.map(({ name, before, after }) => [name, before, after]),
      [
        ["new", [], ["2-r0"]],
        ["old", ["1-r0"], []],
        ["zlib", ["1.2-r0"], ["1.3-r0"]],
      ],
    );
    assert.deepEqual([totalCount, isIncomplete], [3n, false]);
  });

  it("the preview of a deletion counts tags, referrers and the bytes that nothing else needs", async () => {
    const uid = await newRepo();
    const image = await push(uid, { tag: "v1", packages: ["only-here 1-r0"] });
    const shared = await push(uid, { tag: "v2", packages: ["other 1-r0"] });
    const empty = await client.blob(uid, "{}", CONFIG);
    const { digest, size, mediaType } = image;
    const signature = await client.manifest(uid, {
      ...{ schemaVersion: 2, mediaType: MANIFEST, artifactType: "application/x.signature" },
      ...{ config: empty, layers: [], subject: { digest, size, mediaType } },
    });
    const preview = await world.must(previewDeletion, { uid, digest });
    assert.deepEqual([preview.tags, preview.tagCount, preview.manifestCount, preview.isPartial], [["v1"], 1n, 2n, false]);
    assert.deepEqual(
      preview.referrers.map((referrer) => [referrer.digest, referrer.artifactType]),
      [[signature.digest, "application/x.signature"]],
    );
    // The config is the same as that of the other image.
    assert.equal(image.config.digest, shared.config.digest);
    assert.deepEqual([preview.blobCount, preview.freedBytes], [2n, BigInt(image.layer.size + empty.size)]);
    const ofTag = await world.must(previewDeletion, { uid, tag: "v1" });
    assert.deepEqual([ofTag.tags, ofTag.manifestCount, ofTag.freedBytes], [["v1"], 2n, preview.freedBytes]);
    const ofRepo = await world.must(previewDeletion, { uid });
    assert.deepEqual([ofRepo.tags, ofRepo.manifestCount, ofRepo.referrerCount, ofRepo.blobCount], [["v1", "v2"], 3n, 1n, 4n]);
    const missing = await world.rest.call(previewDeletion, { uid, tag: "v9" }, world.owner.token);
    assert.equal(errorOf(missing).code, Code.NOT_FOUND);
    const both = await world.rest.call(previewDeletion, { uid, tag: "v1", digest }, world.owner.token);
    assert.equal(errorOf(both).code, Code.INVALID_ARGUMENT);
  });

  it("content that another repo, another tag or an index needs stays out of the preview", async () => {
    const [uid, other] = [await newRepo(), await newRepo()];
    const content = Buffer.from("a layer of two repos");
    const image = await push(uid, { tag: "v1", content });
    await push(other, { tag: "v1", content });
    assert.equal((await world.must(previewDeletion, { uid, digest: image.digest })).freedBytes, 0n);
    await world.must(TagsService.method.createTag, { parent: uid, tag: { name: "v2", digest: image.digest } });
    assert.equal((await world.must(previewDeletion, { uid, tag: "v1" })).manifestCount, 0n);
    const { digest, size, mediaType } = image;
    const index = await client.manifest(uid, { schemaVersion: 2, mediaType: INDEX, manifests: [{ digest, size, mediaType }] }, "all");
    assert.equal((await world.must(previewDeletion, { uid, digest: index.digest })).manifestCount, 1n);
  });

  it("the preview of a deletion does not tell whether another organization has the same content", async () => {
    const uid = await newRepo();
    const content = Buffer.from("a layer of two organizations");
    const { digest, config, layer } = await push(uid, { content });
    const before = await world.must(previewDeletion, { uid, digest });
    assert.ok(before.freedBytes >= BigInt(layer.size));
    const elsewhere = await world.group("", "another-organization");
    const other = await world.must(ReposService.method.createRepo, { parent: elsewhere, repo: { name: "same" } });
    const copy = await push(other.uid, { content });
    assert.deepEqual([copy.digest, copy.config.digest], [digest, config.digest]);
    assert.deepEqual(await world.must(previewDeletion, { uid, digest }), before);
  });

  it("the deletion of an image removes its tags", async () => {
    const uid = await newRepo();
    const { digest } = await push(uid, { tag: "v1", packages: ["deleted 1-r0"] });
    await world.must(deleteImage, { uid, digest });
    assert.deepEqual((await world.must(TagsService.method.listTags, { uidp: { childrenOf: uid } })).tags, []);
    const again = await world.rest.call(deleteImage, { uid, digest }, world.owner.token);
    assert.equal(errorOf(again).code, Code.NOT_FOUND);
  });
});
