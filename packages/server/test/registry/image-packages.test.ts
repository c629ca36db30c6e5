/** What is read of images that are pushed, on both stores: package databases in layers, whatever those look like. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync, zstdCompressSync } from "node:zlib";
import {
  type ImagePackage,
  ImagePackagesService,
  ImageScan_State,
  type ListImagePackagesResponse,
} from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { describeWithWorld, type World } from "../world.ts";
import { APK, apkDatabase, DPKG, dpkgStatus, type Entries, layerOf, osRelease, RPM, rpmDatabase, rpmHeader } from "./image-content.ts";
import { basic, createRegistryClient, type RegistryClient } from "./registry-client.ts";

const CONFIG = "application/vnd.oci.image.config.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

describeWithWorld("packages of images", (world) => {
  let images: Images;
  before(async () => {
    images = await createImages(world);
  });
  after(() => images[Symbol.dispose]());

  test("a database of apk is read, with origins, platform, distribution and package URLs", async () => {
    const layer = {
      [APK]: apkDatabase("musl 1.2.5-r9", "libssl3 3.3.2-r1 openssl"),
      "etc/os-release": osRelease("alpine", "3.22.1"),
      "bin/sh": "x",
    };
    const { packages, scans, state } = await images.read(await images.push(await layerOf(layer)));
    assert.equal(state, ImageScan_State.DONE);
    assert.equal(scans[0]?.distribution, "alpine 3.22.1");
    assert.equal(scans[0]?.error, "");
    assert.equal(scans[0]?.packageCount, 2);
    assert.ok(scans[0]?.readTime);
    const [libssl, musl] = packages;
    assert.deepEqual(plain(libssl), {
      type: "apk",
      name: "libssl3",
      version: "3.3.2-r1",
      architecture: "x86_64",
      origin: "openssl",
      purl: "pkg:apk/alpine/libssl3@3.3.2-r1?arch=x86_64&distro=alpine-3.22.1&upstream=openssl",
      source: "image",
      location: APK,
      imageDigest: scans[0]?.digest,
      platform: "linux/amd64",
    });
    assert.equal(musl?.purl, "pkg:apk/alpine/musl@1.2.5-r9?arch=x86_64&distro=alpine-3.22.1");
  });
});

function plain(found: ImagePackage | undefined): object {
  const { $typeName: _, ...fields } = found ?? ({} as ImagePackage);
  return fields;
}

interface Images extends Disposable {
  readonly client: RegistryClient;
  readonly name: string;
  readonly repoUid: string;
  /** @returns the digest */
  push(...layers: readonly Buffer[]): Promise<string>;
  list(digest: string): Promise<ListImagePackagesResponse>;
  /** Once nothing is pending. */
  read(digest: string): Promise<ListImagePackagesResponse>;
}

async function createImages(world: World): Promise<Images> {
  const client = createRegistryClient(world.baseUrl, basic("_token", world.owner.token));
  const folder = await world.group(world.orgUid);
  const { uid: repoUid } = await world.must(ReposService.method.createRepo, { parent: folder, repo: { name: "app" } });
  const name = `${folder}/app`;
  const list = (digest: string) => world.must(ImagePackagesService.method.listImagePackages, { uid: repoUid, digest, pageSize: 200 });
  return {
    client,
    name,
    repoUid,
    list,
    async push(...layers) {
      const config = await client.blob(name, JSON.stringify({ architecture: "amd64", os: "linux", n: Math.random() }), CONFIG);
      const blobs = [];
      for (const layer of layers) blobs.push(await client.blob(name, layer, LAYER));
      return (await client.manifest(name, { schemaVersion: 2, mediaType: MANIFEST, config, layers: blobs })).digest;
    },
    async read(digest) {
      for (;;) {
        const found = await list(digest);
        if (found.state !== ImageScan_State.PENDING) return found;
        await sleep(20);
      }
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}
