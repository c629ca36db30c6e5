/** Tests SBOMs of images on both stores, attached in every way that tools use, before and after the image. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ImagePackagesService, ImageScan_State } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { findAttestations } from "../../src/registry/packages/descriptions.ts";
import { APK, apkDatabase, cycloneDx, envelope, layerOf, spdx, statement } from "../harness/registry/image-content.ts";
import { createImageRepo, type ImageRepo, named } from "../harness/registry/image-world.ts";
import type { Descriptor } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const SPDX = "application/spdx+json";
const CYCLONE_DX = "application/vnd.cyclonedx+json";
const IN_TOTO = "application/vnd.in-toto+json";
const DSSE = "application/vnd.dsse.envelope.v1+json";
const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
const SPDX_PREDICATE = "https://spdx.dev/Document";
const EXPRESS = "pkg:npm/express@4.19.2";

describeWithWorld("SBOMs of images", (world) => {
  const imageIn = async (repo: ImageRepo) => repo.push([await layerOf({ [APK]: apkDatabase("musl 1.2.5-r9") })]);
  const attach = (repo: ImageRepo, subject: Descriptor, content: string, mediaType: string) =>
    repo.pushArtifact([[content, mediaType]], { subject, artifactType: mediaType });

  test("packages of an SBOM are listed with those of the image, and packages in both are listed once, as in the image", async () => {
    using repo = await createImageRepo(world);
    const image = await imageIn(repo);
    await repo.read(image.digest);
    const purls = ["pkg:apk/alpine/musl@1.2.5-r9?arch=x86_64", "pkg:npm/%40types/node@24.0.0", "pkg:golang/golang.org/x/net@v0.40.0#http2"];
    const document = spdx(
      ...purls,
      "pkg:maven/org.slf4j/slf4j-api@2.0.17?type=jar",
      "pkg:pypi/flask@3.1.0",
      "pkg:deb/debian/libc6@2.41-12?upstream=glibc",
    );
    await attach(repo, image, document, SPDX);
    const found = await repo.read(image.digest);
    assert.deepEqual(named(found), [
      "npm @types/node 24.0.0",
      "pypi flask 3.1.0",
      "golang golang.org/x/net v0.40.0",
      "deb libc6 2.41-12",
      "apk musl 1.2.5-r9",
      "maven org.slf4j:slf4j-api 2.0.17",
    ]);
    const [node, , , libc, musl] = found.packages;
    assert.deepEqual([musl?.source, musl?.location], ["image", APK]);
    assert.deepEqual([node?.source, node?.imageDigest, node?.platform], [SPDX, image.digest, "linux/amd64"]);
    assert.match(node?.location ?? "", /^sha256:[0-9a-f]{64}$/);
    assert.equal(libc?.origin, "glibc");
    assert.equal(found.scans.length, 2);
    assert.ok(found.scans.every((scan) => scan.state === ImageScan_State.DONE && scan.imageDigest === image.digest));
    // A second SBOM repeats these packages and adds one.
    await attach(repo, image, cycloneDx("pkg:pypi/flask@3.1.0", EXPRESS), CYCLONE_DX);
    const both = await repo.read(image.digest);
    assert.deepEqual(named(both).toSorted(), [...named(found), "npm express 4.19.2"].toSorted());
  });

  test("an SBOM that is pushed before its image is listed with it", async () => {
    using repo = await createImageRepo(world);
    const pushed = await imageIn(repo);
    await repo.read(pushed.digest);
    using other = await createImageRepo(world);
    const early = await attach(other, pushed, spdx(EXPRESS), SPDX);
    await other.read(early.digest);
    const content = (await repo.client.send("GET", `${repo.name}/manifests/${pushed.digest}`)).body;
    for (const { digest } of (JSON.parse(content.toString()) as { layers: Descriptor[]; config: Descriptor }).layers)
      await other.client.send("POST", `${other.name}/blobs/uploads/?mount=${digest}&from=${repo.name}`);
    const { config } = JSON.parse(content.toString()) as { config: Descriptor };
    await other.client.send("POST", `${other.name}/blobs/uploads/?mount=${config.digest}&from=${repo.name}`);
    const headers = { "content-type": pushed.mediaType };
    const { status } = await other.client.send("PUT", `${other.name}/manifests/${pushed.digest}`, { headers, body: content });
    assert.equal(status, 201);
    assert.deepEqual(named(await other.read(pushed.digest)), ["npm express 4.19.2", "apk musl 1.2.5-r9"]);
    // SBOMs in other repos do not count.
    assert.deepEqual(named(await repo.read(pushed.digest)), ["apk musl 1.2.5-r9"]);
  });

  test("SBOMs are found in statements, envelopes and bundles, as referrers, by cosign tags and in indexes", async () => {
    using repo = await createImageRepo(world);
    const predicate = JSON.parse(spdx(EXPRESS));
    const about = (image: Descriptor) => statement(SPDX_PREDICATE, predicate, `sha256:${"0".repeat(64)}`, image.digest);
    const tagOf = ({ digest }: Descriptor, suffix: string) => `${digest.replace(":", "-")}.${suffix}`;
    /** Each attaches an SBOM and returns the descriptor to read; undefined for the image. */
    const ways: Readonly<Record<string, (image: Descriptor) => Promise<Descriptor | undefined>>> = {
      "a statement": async (image) => void (await attach(repo, image, about(image), IN_TOTO)),
      "an envelope": async (image) => void (await attach(repo, image, envelope(about(image)), DSSE)),
      async "a bundle"(image) {
        await attach(repo, image, JSON.stringify({ dsseEnvelope: JSON.parse(envelope(about(image))) }), BUNDLE);
        return undefined;
      },
      async "a statement with the document as text"(image) {
        await attach(repo, image, statement("https://cyclonedx.org/bom", cycloneDx(EXPRESS), image.digest), IN_TOTO);
        return undefined;
      },
      async "SPDX 3"(image) {
        await attach(repo, image, JSON.stringify({ "@graph": [{ type: "software_Package", software_packageUrl: EXPRESS }] }), SPDX);
        return undefined;
      },
      async "cosign's tag for SBOMs"(image) {
        await repo.pushArtifact([[spdx(EXPRESS), "text/spdx+json"]], {}, tagOf(image, "sbom"));
        return undefined;
      },
      async "cosign's tag for attestations"(image) {
        await repo.pushArtifact([[envelope(about(image)), DSSE]], {}, tagOf(image, "att"));
        return undefined;
      },
      async "an attestation in an index"(image) {
        const attestation = await repo.pushArtifact([[about(image), IN_TOTO]]);
        const annotations = { "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": image.digest };
        return repo.pushIndex([image, { ...attestation, annotations, platform: { architecture: "unknown", os: "unknown" } }]);
      },
      async "a referrer of an index"(image) {
        const index = await repo.pushIndex([image]);
        await attach(repo, index, spdx(EXPRESS, "pkg:apk/alpine/musl@1.2.5-r9"), SPDX);
        return index;
      },
    };
    for (const [title, way] of Object.entries(ways)) {
      const image = await imageIn(repo);
      const { digest } = (await way(image)) ?? image;
      const found = await repo.read(digest);
      assert.equal(found.state, ImageScan_State.DONE, `${title}: ${found.scans.map(({ error }) => error).join()}`);
      assert.deepEqual(named(found), ["npm express 4.19.2", "apk musl 1.2.5-r9"], title);
    }
  });

  test("an attestation that does not name a digest is ignored", async () => {
    using repo = await createImageRepo(world);
    const image = await imageIn(repo);
    await repo.read(image.digest);
    // Not another image: an index with two of a platform has one of them.
    const other = await repo.pushArtifact([["1", IN_TOTO]]);
    for (const value of [5, true, {}, [image.digest], "not a digest"]) {
      const annotations = { "vnd.docker.reference.digest": value };
      const index = await repo.pushIndex([image, { ...other, annotations }, { ...other, annotations: null }]);
      const found = await repo.read(index.digest);
      assert.deepEqual(named(found), ["apk musl 1.2.5-r9"]);
      assert.deepEqual(
        found.scans.map(({ imageDigest }) => imageDigest),
        [image.digest],
      );
    }
  });

  test("attestations of an image are not looked for in indexes above 1 MiB", async () => {
    using repo = await createImageRepo(world);
    const [image, first, second] = [
      await imageIn(repo),
      await repo.pushArtifact([["1", IN_TOTO]]),
      await repo.pushArtifact([["2", IN_TOTO]]),
    ];
    const attesting = (attestation: Descriptor, more: object) =>
      repo.pushIndex([image, { ...attestation, annotations: { "vnd.docker.reference.digest": image.digest, ...more } }]);
    await attesting(first, {});
    await attesting(second, { padding: " ".repeat(1024 * 1024) });
    assert.deepEqual(await findAttestations(world.store.reader, repo.uid, image.digest), [first.digest]);
  });

  test("a document that is not an SBOM, is too large, or is about another image is reported as unreadable", async () => {
    using repo = await createImageRepo(world);
    const other = `sha256:${"1".repeat(64)}`;
    const deep = `${'{"components":['.repeat(100_000)}${"]}".repeat(100_000)}`;
    const cases: readonly (readonly [content: string, mediaType: string, error: RegExp])[] = [
      ["{", SPDX, /: the document is not JSON$/],
      [spdx(EXPRESS).slice(0, -5), SPDX, /: the document is not JSON$/],
      ["[]", SPDX, /: the document is not a JSON object$/],
      ['{"packages":[]}', SPDX, /: the document is neither SPDX nor CycloneDX$/],
      [envelope("no statement"), DSSE, /: the document is not JSON$/],
      [statement(SPDX_PREDICATE, null, other), IN_TOTO, /: the statement is about another image$/],
      [statement(SPDX_PREDICATE, JSON.parse(spdx(EXPRESS)), other), IN_TOTO, /: the statement is about another image$/],
      [deep, CYCLONE_DX, /: the document is n/],
      [`${spdx(EXPRESS)}${" ".repeat(32 * 1024 * 1024)}`, SPDX, /: the document is larger than 32 MiB$/],
    ];
    for (const [content, mediaType, error] of cases) {
      const image = await imageIn(repo);
      await attach(repo, image, content, mediaType);
      const found = await repo.read(image.digest);
      assert.deepEqual([found.state, named(found)], [ImageScan_State.FAILED, ["apk musl 1.2.5-r9"]], String(error));
      assert.match(found.scans[1]?.error ?? "", error);
    }
  });

  test("entries of an SBOM without a package URL are left out, and packages that cannot be stored are counted", async () => {
    using repo = await createImageRepo(world);
    const image = await imageIn(repo);
    const strange = ["", "pkg:", "no url", "pkg:npm/without-version", "pkg:npm/@scope/without-version", "pkg:/a@1", "pkg:npm/@1"];
    const unkeepable = [`pkg:npm/${"n".repeat(300)}@1`, "pkg:npm/bell%07@1", "pkg:npm/nul%00@1", "pkg:npm/\ud800@1"];
    const fine = ["pkg:NPM/@scope/name@1.0?x", "pkg:npm/%zz@2", "pkg:rpm/fedora/bash@5-1?epoch=2&arch=noarch&upstream=bash-5-1.src.rpm"];
    await attach(repo, image, spdx(...strange, ...unkeepable, ...fine, ...fine), SPDX);
    const found = await repo.read(image.digest);
    assert.deepEqual(named(found), ["npm %zz 2", "npm @scope/name 1.0", "rpm bash 2:5-1", "apk musl 1.2.5-r9"]);
    assert.equal(found.packages[2]?.architecture, "noarch");
    assert.equal(found.state, ImageScan_State.DONE);
    assert.match(found.scans[1]?.error ?? "", /: 4 entries are without a readable name and version$/);
  });

  test("a statement of another type than an SBOM is ignored", async () => {
    using repo = await createImageRepo(world);
    const image = await imageIn(repo);
    await attach(repo, image, statement("https://slsa.dev/provenance/v1", { packages: [] }, image.digest), IN_TOTO);
    const found = await repo.read(image.digest);
    assert.deepEqual([found.state, named(found)], [ImageScan_State.DONE, ["apk musl 1.2.5-r9"]]);
  });

  test("an index with too many images is refused with advice to request each image", async () => {
    using repo = await createImageRepo(world);
    const images = [];
    const layer = await layerOf({ [APK]: apkDatabase("musl 1.2.5-r9") });
    for (let n = 0; n <= 100; n++) images.push(await repo.push([layer], { architecture: `a${n}` }));
    const { digest } = await repo.pushIndex(images);
    const outcome = await world.rest.call(ImagePackagesService.method.listImagePackages, { uid: repo.uid, digest }, world.owner.token);
    assert.match(outcome.ok ? "" : outcome.error.message, /more than 100 images; request each/);
    assert.equal((await repo.read((await repo.pushIndex(images.slice(1))).digest)).scans.length, 100);
  });
});
