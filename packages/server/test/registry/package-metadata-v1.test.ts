/** Tests the packages of images, and the versions of packages, in version 1 of the API, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { sql } from "kysely";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { APK, apkDatabase, layerOf, osRelease, spdx } from "../harness/registry/image-content.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import type { Descriptor } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listManifestMetadata, getPackageVersionMetadata } = Registry.method;
const SPDX = "application/spdx+json";
const UNKNOWN = `sha256:${"2".repeat(64)}`;

describeWithWorld("package metadata of version 1", (world) => {
  let repo: ImageRepo;
  before(async () => {
    repo = await createImageRepo(world);
  });
  after(() => repo[Symbol.dispose]());

  const push = async (packages: readonly string[], architecture = "amd64"): Promise<Descriptor> => {
    const layer = await layerOf({ [APK]: apkDatabase(...packages), "etc/os-release": osRelease("alpine", "3.22") });
    const image = await repo.push([layer], { architecture });
    await repo.read(image.digest);
    return image;
  };

  test("the packages of images and of index entries are listed with their origins", async () => {
    const amd = await push(["libssl3 3.3.2-r1 openssl", "musl 1.2.5-r9"]);
    const arm = await push(["busybox 1.37-r0"], "arm64");
    const document = await repo.pushArtifact([[spdx("pkg:npm/%40types/node@24.0.0"), SPDX]], { subject: arm, artifactType: SPDX });
    await repo.read(document.digest);
    const index = await repo.pushIndex([amd, arm]);
    const items = [
      { filter: { case: "imageDigest", value: amd.digest } },
      { filter: { case: "indexFilter", value: { digest: index.digest, arch: "arm64" } } },
      { filter: { case: "indexFilter", value: { digest: index.digest, arch: "s390x" } } },
      { filter: { case: "imageDigest", value: UNKNOWN } },
      { filter: { case: "imageDigest", value: "latest" } },
      {},
    ] as const;
    const found = answerOf(await world.grpc.call(listManifestMetadata, { repoId: repo.uid, items: [...items] }, world.token)).items;
    const distro = "arch=x86_64&distro=alpine-3.22";
    assert.deepEqual(
      found.map(({ digest, pkgMetadata }) => [digest, pkgMetadata.map(({ purl, originPurl }) => [purl, originPurl])]),
      [
        [
          amd.digest,
          [
            [`pkg:apk/alpine/libssl3@3.3.2-r1?${distro}&upstream=openssl`, `pkg:apk/alpine/openssl@3.3.2-r1?${distro}`],
            [`pkg:apk/alpine/musl@1.2.5-r9?${distro}`, `pkg:apk/alpine/musl@1.2.5-r9?${distro}`],
          ],
        ],
        [
          arm.digest,
          [
            ["pkg:npm/%40types/node@24.0.0", "pkg:npm/%40types/node@24.0.0"],
            [`pkg:apk/alpine/busybox@1.37-r0?${distro}`, `pkg:apk/alpine/busybox@1.37-r0?${distro}`],
          ],
        ],
      ],
    );
    const none = await world.raw("GET", `/registry/v1/repos/${repo.uid}/manifestmetdata`);
    assert.deepEqual([none.status, none.text], [200, '{"items":[]}']);
    const many = Array.from({ length: 101 }, () => items[0]);
    const refused = await world.grpc.call(listManifestMetadata, { repoId: repo.uid, items: many }, world.token);
    assert.equal(codeOf(refused), Code.INVALID_ARGUMENT);
  });

  test("the versions of a package are its release lines, or its own versions, the newest first", async () => {
    await push(["python-3.9 3.9.1-r0", "python-3.12 3.12.4-r0", "python-3.12-dev 3.12.4-r0", "python 0-r0", "nginx 1.9.0-r2"]);
    await push(["python-3.12 3.12.11-r1", "nginx 1.27.1-r10", "nginx-mod 1-r0"]);
    await push(["nginx 1.27.1-r9"]);
    const releases = async (name: string) => {
      const answers = await Promise.all(
        world.clients.map(async (client) => answerOf(await client.call(getPackageVersionMetadata, { package: name }, world.token))),
      );
      assert.deepEqual(answers[0], answers[1]);
      const { versions, latestVersion, lastUpdatedTimestamp } = answers[0] ?? assert.fail();
      assert.match(lastUpdatedTimestamp, /^20\d\d-/);
      assert.ok(versions.every(({ exists }) => exists));
      return [latestVersion, ...versions.map((each) => `${each.version} ${each.latestVersion}`)];
    };
    assert.deepEqual(await releases("python"), ["3.12", "3.12 3.12.11-r1", "3.9 3.9.1-r0"]);
    assert.deepEqual(await releases("nginx"), ["1.27.1", "1.27.1 1.27.1-r10", "1.9.0 1.9.0-r2"]);
    assert.deepEqual(await releases("python-3.12"), ["3.12.11", "3.12.11 3.12.11-r1", "3.12.4 3.12.4-r0"]);
    assert.equal(codeOf(await world.rest.call(getPackageVersionMetadata, { package: "unknown" }, world.token)), Code.NOT_FOUND);
  });

  test("a caller learns versions from the images that it may read only", async () => {
    await push(["private-tool 1-r0"]);
    const codes = async (group: string) => {
      const { token } = await world.robot(group, [Capability.CAP_VERSION_LIST]);
      return Promise.all(
        world.clients.map(async (client) => codeOf(await client.call(getPackageVersionMetadata, { package: "private-tool" }, token))),
      );
    };
    assert.deepEqual(await codes(world.orgUid), [0, 0]);
    assert.deepEqual(await codes(await world.group(world.orgUid, "elsewhere")), [Code.NOT_FOUND, Code.NOT_FOUND]);
  });

  test("many images of other organizations do not hide a version", async () => {
    const pushed = await push(["other 1-r0"]);
    await world.store.transaction(async (db) => {
      const scan = await db.selectFrom("image_scan").selectAll().where("digest", "=", pushed.digest).executeTakeFirstOrThrow();
      await db
        .insertInto("image_scan")
        .values({ ...scan, digest: UNKNOWN })
        .execute();
      await sql`insert into image_package (digest, type, name, version, architecture, origin, location, source, purl)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20001)
        select ${sql.lit(UNKNOWN)}, 'apk', 'crowded', '9-r0', 'x86_64', '', cast(i as text), '', '' from n`.execute(db);
    });
    await push(["crowded 1-r0"]);
    const { latestVersion } = await world.must(getPackageVersionMetadata, { package: "crowded" });
    assert.equal(latestVersion, "1");
  });
});
