/** Tests reading the packages of pushed images on both stores: package databases in layers, and invalid layers. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { ImagePackagesService, ImageScan_State } from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { Unreadable } from "../../src/registry/packages/found-package.ts";
import { ImageFiles } from "../../src/registry/packages/image-files.ts";
import { Allowance, readLayer } from "../../src/registry/packages/read-layer.ts";
import { codeOf } from "../harness/clients.ts";
import {
  APK,
  apkDatabase,
  type Compression,
  DPKG,
  dpkgStatus,
  type Entries,
  layerOf,
  osRelease,
  RPM,
  rpmDatabase,
  rpmHeader,
} from "../harness/registry/image-content.ts";
import { createImageRepo, type ImageRepo, named, scanOf } from "../harness/registry/image-world.ts";
import { CONFIG, type Descriptor, LAYER, MANIFEST } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listImagePackages } = ImagePackagesService.method;

describeWithWorld("packages of images", (world) => {
  let repo: ImageRepo;
  before(async () => {
    repo = await createImageRepo(world);
  });
  after(() => repo[Symbol.dispose]());

  /** Pushes an image of these layers, the lowest first, and reads its packages. */
  const readLayers = async (...layers: readonly (Entries | Buffer)[]) => {
    const packed = await Promise.all(layers.map((layer) => (Buffer.isBuffer(layer) ? layer : layerOf(layer))));
    return repo.read((await repo.push(packed)).digest);
  };

  test("an apk database is read, with origins, platform, distribution and package URLs", async () => {
    const layer = {
      [APK]: apkDatabase("musl 1.2.5-r9", "libssl3 3.3.2-r1 openssl"),
      "etc/os-release": osRelease("alpine", "3.22.1"),
      "bin/sh": "x",
    };
    const found = await readLayers(layer);
    const scan = scanOf(found);
    assert.equal(found.state, ImageScan_State.DONE);
    assert.deepEqual([scan.state, scan.distribution, scan.error, scan.packageCount], ["DONE", "alpine 3.22.1", "", 2]);
    assert.ok(scan.readTime);
    const { $typeName: _, ...libssl } = found.packages[0] ?? assert.fail();
    assert.deepEqual(libssl, {
      type: "apk",
      name: "libssl3",
      version: "3.3.2-r1",
      architecture: "x86_64",
      origin: "openssl",
      purl: "pkg:apk/alpine/libssl3@3.3.2-r1?arch=x86_64&distro=alpine-3.22.1&upstream=openssl",
      source: "image",
      location: APK,
      imageDigest: scan.digest,
      platform: "linux/amd64",
    });
    assert.deepEqual([found.packages[1]?.name, found.packages[1]?.origin], ["musl", "musl"]);
    assert.equal(found.packages[1]?.purl, "pkg:apk/alpine/musl@1.2.5-r9?arch=x86_64&distro=alpine-3.22.1");
  });

  test("dpkg's status file and the status.d folder are read, without removed packages", async () => {
    const removed =
      "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\nPackage: never\nStatus: unknown ok not-installed\nVersion: 2\n";
    const status = `${dpkgStatus("libc6 2.41-12 glibc", "tzdata 2025b+1~x")}\n${removed}`;
    const found = await readLayers({ [DPKG]: status, "usr/lib/os-release": osRelease("debian", "13") });
    assert.deepEqual(named(found), ["deb libc6 2.41-12", "deb tzdata 2025b+1~x"]);
    assert.equal(found.packages[0]?.origin, "glibc");
    assert.equal(found.packages[1]?.purl, "pkg:deb/debian/tzdata@2025b%2B1~x?arch=amd64&distro=debian-13");
    const files = await readLayers({
      "./var/lib/dpkg/status.d/base": "Package: base-files\nVersion: 12\nArchitecture: all\n",
      "var/lib/dpkg/status.d/tz": "Package: tzdata\r\nVersion: 2025a\r\nArchitecture: all\r\n",
      "var/lib/dpkg/status.d/tz.md5sums": "Package: not\nVersion: 1\n",
      "var/lib/dpkg/status.d/deeper/tz": "Package: neither\nVersion: 1\n",
    });
    assert.deepEqual(named(files), ["deb base-files 12", "deb tzdata 2025a"]);
    assert.equal(files.packages[0]?.purl, "pkg:deb/base-files@12?arch=all");
  });

  test("an RPM database is read, with the packages in its write-ahead log, and without public keys", async () => {
    const { database, log } = await rpmDatabase([
      rpmHeader({
        name: "openssl-libs",
        version: "3.2.2",
        release: "6.el9",
        epoch: 1,
        arch: "x86_64",
        sourceRpm: "openssl-3.2.2-6.el9.src.rpm",
      }),
      rpmHeader({ name: "gpg-pubkey", version: "abc", release: "1" }),
      rpmHeader({ name: "bash", version: "5.1.8", release: "9.el9", epoch: 0, arch: "x86_64", sourceRpm: "bash-5.1.8-9.el9.src.rpm" }),
    ]);
    const found = await readLayers({ [RPM]: database, [`${RPM}-wal`]: log, "etc/os-release": osRelease("rhel", "9.6") });
    assert.deepEqual(named(found), ["rpm bash 5.1.8-9.el9", "rpm openssl-libs 1:3.2.2-6.el9"]);
    assert.equal(found.packages[1]?.origin, "openssl");
    assert.equal(found.packages[1]?.purl, "pkg:rpm/rhel/openssl-libs@3.2.2-6.el9?arch=x86_64&distro=rhel-9.6&epoch=1&upstream=openssl");
    assert.deepEqual(named(await readLayers({ "usr/lib/sysimage/rpm/rpmdb.sqlite": database })), ["rpm openssl-libs 1:3.2.2-6.el9"]);
  });

  for (const order of ["little-endian", "big-endian"]) {
    test(`an RPM database of the kind Berkeley DB is read, written by a ${order} machine`, async () => {
      const packed = await readFile(new URL(`../harness/registry/rpm-packages-${order}.gz`, import.meta.url));
      const database = gunzipSync(packed);
      const found = await readLayers({ "var/lib/rpm/Packages": database, "etc/os-release": osRelease("centos", "7") });
      assert.equal(scanOf(found).error, "");
      assert.deepEqual(named(found), ["rpm holt-big 2:1.2.3-4", "rpm holt-small 2:1.2.3-4"]);
      assert.equal(found.packages[0]?.purl, "pkg:rpm/centos/holt-big@1.2.3-4?arch=noarch&distro=centos-7&epoch=2");
      // Damage at any place is reported or harmless.
      for (let seed = 0; seed < 20; seed++) {
        const damaged = Buffer.from(database);
        for (let n = 0; n < 50; n++) damaged.writeUInt8((seed * 31 + n * 17) & 255, (seed * 7919 + n * 104_729) % damaged.length);
        assert.notEqual(scanOf(await readLayers({ "var/lib/rpm/Packages": damaged })).state, "");
      }
    });
  }

  test("databases behind symbolic links are read, also across layers and over several links", async () => {
    const link = (linkname: string) => ({ type: "symlink", linkname }) as const;
    const data = { "opt/data/installed": apkDatabase("a 1-r0") };
    const cases: readonly (readonly [title: string, layers: readonly Entries[], expected: readonly string[]])[] = [
      ["a link at the file", [{ ...data, [APK]: link("/opt/data/installed") }], ["apk a 1-r0"]],
      ["a relative link at the folder", [{ ...data, "lib/apk/db": link("../../opt/data") }], ["apk a 1-r0"]],
      ["a link in an upper layer", [data, { "lib/apk": link("/opt/apk"), "opt/apk/db": link("../data") }], ["apk a 1-r0"]],
      ["a folder of status files", [{ "opt/s/a": "Package: a\nVersion: 1\n", "var/lib/dpkg/status.d": link("/opt/s") }], ["deb a 1"]],
      ["a link that a layer removes", [{ ...data, [APK]: link("/opt/data/installed") }, { "lib/apk/db/.wh.installed": "" }], []],
      ["a link to itself", [{ ...data, "lib/apk": link("apk") }], []],
      ["a link out of the image", [{ ...data, [APK]: link("../../../../../../opt/data/installed") }], ["apk a 1-r0"]],
    ];
    for (const [title, layers, expected] of cases) assert.deepEqual(named(await readLayers(...layers)), expected, title);
    const release = { "etc/os-release": link("/opt/release"), "opt/release": osRelease("alpine", "3.22.1"), [APK]: apkDatabase("a 1-r0") };
    assert.equal(scanOf(await readLayers(release)).distribution, "alpine 3.22.1");
  });

  test("layers are decompressed by their content, whatever their media type says", async () => {
    for (const compression of ["plain", "gzip", "zstd"] as const satisfies Compression[]) {
      const layer = await layerOf({ [APK]: apkDatabase(`a 1-r0`), "usr/big": randomBytes(900_000) }, compression);
      assert.deepEqual(named(await readLayers(layer)), ["apk a 1-r0"], compression);
    }
  });

  test("a layer replaces, removes and hides files of lower layers, but not its own", async () => {
    const base = {
      [APK]: apkDatabase("old 1-r0"),
      [DPKG]: dpkgStatus("kept 1"),
      "var/lib/dpkg/status.d/one": "Package: one\nVersion: 1\n",
    };
    const kept = ["deb kept 1", "deb one 1"];
    const layers: readonly (readonly [title: string, layer: Entries, expected: string[]])[] = [
      ["replaced", { [APK]: apkDatabase("new 2-r0") }, [...kept, "apk new 2-r0"]],
      ["emptied", { [APK]: "" }, kept],
      ["white-out of the file", { "lib/apk/db/.wh.installed": "" }, kept],
      ["white-out of a folder above", { ".wh.lib": "" }, kept],
      [
        "white-out of what is not there",
        { "usr/.wh.lib": "", "lib/apk/db/.wh.scripts.tar": "", "lib/apk/.wh.installed": "" },
        [...kept, "apk old 1-r0"],
      ],
      ["opaque folder", { "lib/apk/.wh..wh..opq": "" }, kept],
      [
        "opaque folder with something in it",
        { "lib/apk/db/installed": apkDatabase("new 2-r0"), "lib/apk/.wh..wh..opq": "" },
        [...kept, "apk new 2-r0"],
      ],
      [
        "white-out beside the file that comes anew",
        { [APK]: apkDatabase("new 2-r0"), "lib/apk/db/.wh.installed": "" },
        [...kept, "apk new 2-r0"],
      ],
      ["opaque root", { ".wh..wh..opq": "" }, []],
      ["a folder that becomes a link", { lib: { type: "symlink", linkname: "usr/lib" } }, kept],
      ["a file that becomes a folder", { [APK]: null }, kept],
      ["a folder that stays one", { "lib/": null, "lib/apk/": null }, [...kept, "apk old 1-r0"]],
      ["one of the files in a folder", { "var/lib/dpkg/status.d/.wh.one": "" }, ["deb kept 1", "apk old 1-r0"]],
      [
        "a hard link to what is below",
        { "usr/lib/apk/db/installed": { type: "link", linkname: APK } },
        [...kept, "apk old 1-r0", "apk old 1-r0"],
      ],
    ];
    for (const [title, layer, expected] of layers) {
      const found = await readLayers(base, layer);
      assert.deepEqual(named(found).toSorted(), expected.toSorted(), title);
      assert.equal(scanOf(found).error, "", title);
    }
  });

  test("a layer that a manifest lists twice is read once, at its last position", async () => {
    const lower = await layerOf({ [APK]: apkDatabase("lower 1-r0") });
    const upper = await layerOf({ [APK]: apkDatabase("upper 1-r0"), [DPKG]: dpkgStatus("kept 1") });
    assert.deepEqual(named(await readLayers(lower, upper, lower)), ["deb kept 1", "apk lower 1-r0"]);
    const broken = Buffer.from("no archive, each time");
    const { error } = scanOf(await readLayers(broken, lower, broken, upper, broken));
    assert.equal(error.match(/^layer /gm)?.length, 1, error);
  });

  test("the readable entries of a damaged database are listed, and the others are counted", async () => {
    const trash = `P:${"n".repeat(300)}\nV:1\n\nP:no-version\n\nV:1\n\nP:bell\u0007\nV:1\n\nP:bytes\uFFFD\nV:1\n\nnothing at all\n\n`;
    const found = await readLayers({ [APK]: `${trash}${apkDatabase("good 1-r0", "good 1-r0")}P:last\nV:2-r0` });
    assert.deepEqual(named(found), ["apk good 1-r0", "apk last 2-r0"]);
    assert.equal(scanOf(found).state, "DONE");
    assert.equal(scanOf(found).error, `${APK}: 5 entries are without a readable name and version`);
    const bytes = await readLayers({ [APK]: randomBytes(100_000), [DPKG]: dpkgStatus("good 1") });
    assert.deepEqual(named(bytes), ["deb good 1"]);
    assert.equal(scanOf(bytes).state, "DONE");
  });

  test("an RPM database that is damaged, malicious or of another format is reported as unreadable", async () => {
    const good = rpmHeader({ name: "good", version: "1", release: "1" });
    const lying = rpmHeader({ name: "good", version: "1", release: "1" });
    lying.writeUInt32BE(0xffffffff, 8 + 8);
    const { database } = await rpmDatabase([good, lying, Buffer.from("not a header"), Buffer.alloc(0), good, good]);
    const entries = await readLayers({ [RPM]: database });
    assert.deepEqual(named(entries), ["rpm good 1-1"]);
    assert.match(scanOf(entries).error, /^var\/lib\/rpm\/rpmdb\.sqlite: 3 entries are without a readable name/);

    const endless =
      "CREATE VIEW Packages AS WITH RECURSIVE n(blob) AS (SELECT x'00' UNION ALL SELECT blob FROM n) SELECT 1 AS hnum, blob FROM n";
    const computed = "CREATE TABLE Packages (hnum INTEGER PRIMARY KEY AUTOINCREMENT, given, blob BLOB AS (zeroblob(1000000000)))";
    const cases: readonly (readonly [title: string, layer: Entries, error: RegExp])[] = [
      ["a view", { [RPM]: (await rpmDatabase([], endless)).database }, /has no table Packages of the expected form/],
      ["a computed column", { [RPM]: (await rpmDatabase([], computed)).database }, /has no table Packages of the expected form/],
      ["no database", { [RPM]: randomBytes(5000) }, /rpmdb\.sqlite: file is not a database/],
      ["cut", { [RPM]: database.subarray(0, 4096) }, /rpmdb\.sqlite: /],
      ["Berkeley DB", { "var/lib/rpm/Packages": randomBytes(5000) }, /var\/lib\/rpm\/Packages: it is not a Berkeley DB hash database/],
      ["ndb", { "usr/lib/sysimage/rpm/Packages.db": randomBytes(5000) }, /Packages\.db: unsupported RPM database format/],
    ];
    for (const [title, layer, error] of cases) {
      const found = await readLayers({ ...layer, [APK]: apkDatabase("beside 1-r0") });
      assert.deepEqual([scanOf(found).state, named(found)], ["FAILED", ["apk beside 1-r0"]], title);
      assert.match(scanOf(found).error, error, title);
    }
  });

  test("an invalid layer fails with its digest and the reason, and the other layers are read", async () => {
    const good = await layerOf({ [APK]: apkDatabase("good 1-r0") });
    const large = await layerOf({ [DPKG]: dpkgStatus("half 1"), "usr/big": randomBytes(500_000) });
    const plainLarge = await layerOf({ "usr/big": randomBytes(500_000) }, "plain");
    const zstd = await layerOf({ "usr/big": randomBytes(500_000) }, "zstd");
    const cases: readonly (readonly [title: string, layer: Buffer, reason: RegExp])[] = [
      ["text", Buffer.from("no archive"), /not a complete tar archive/],
      ["long text", Buffer.from("no archive ".repeat(1000)), /not a complete tar archive/],
      ["trash", randomBytes(5000), /not a complete tar archive/],
      ["gzip of trash", gzipSync(randomBytes(5000)), /not a complete tar archive/],
      ["truncated gzip", large.subarray(0, 300_000), /not valid gzip data \(unexpected end of file\)/],
      ["damaged gzip", Buffer.concat([large.subarray(0, 300_000), randomBytes(1000), large.subarray(301_000)]), /not valid gzip data/],
      ["truncated tar", plainLarge.subarray(0, 300_000), /not a complete tar archive \(Unexpected end of data\)/],
      ["truncated zstd", zstd.subarray(0, 300_000), /not valid zstd data/],
      ["gzip bomb", gzipSync(Buffer.alloc(300 * 1024 * 1024)), /expands to more than 250 times its size/],
    ];
    for (const [title, layer, reason] of cases) {
      const found = await readLayers(layer, good);
      const { state, error } = scanOf(found);
      assert.deepEqual([state, named(found).at(0)], ["FAILED", "apk good 1-r0"], `${title}: ${error}`);
      const digest = `sha256:${createHash("sha256").update(layer).digest("hex")}`;
      assert.ok(error.startsWith(`layer ${digest}: `), `${title}: ${error}`);
      assert.match(error, reason, title);
    }
    assert.deepEqual(named(await readLayers(Buffer.alloc(0), good)), ["apk good 1-r0"]);
  });

  test("too large or too many databases end the reading but not the server", async () => {
    const big = { [DPKG]: Buffer.alloc(65 * 1024 * 1024, randomBytes(65536)), [APK]: apkDatabase("good 1-r0") };
    const found = await readLayers(big);
    assert.deepEqual([scanOf(found).state, named(found)], ["FAILED", ["apk good 1-r0"]]);
    assert.equal(scanOf(found).error, `${DPKG}: larger than 64 MiB`);
    const files = Object.fromEntries(Array.from({ length: 20_002 }, (_, n) => [`var/lib/dpkg/status.d/${n}`, "x"]));
    assert.match(scanOf(await readLayers(files)).error, /changes more than 20000 files of package databases/);
    const many = Array.from({ length: 100_001 }, (_, n) => `p${n} 1-r0`);
    const { error, packageCount, state } = scanOf(await readLayers({ [APK]: apkDatabase(...many) }));
    assert.deepEqual([error, packageCount, state], ["there are more than 100000 packages", 100_000, "FAILED"]);
  });

  test("a foreign layer is not read, even if the registry has it", async () => {
    const config = await repo.client.blob(repo.name, JSON.stringify({ architecture: "amd64", os: "windows" }), CONFIG);
    const layer = await repo.client.blob(repo.name, await layerOf({ [APK]: apkDatabase("a 1-r0") }), LAYER);
    const layers = [{ ...layer, urls: ["https://elsewhere.example.com/layer"] }];
    const { digest } = await repo.client.manifest(repo.name, { schemaVersion: 2, mediaType: MANIFEST, config, layers });
    const found = await repo.read(digest);
    assert.deepEqual([scanOf(found).state, named(found)], ["FAILED", []]);
    assert.equal(scanOf(found).error, `layer ${layer.digest}: the content is not stored in this registry (it has urls)`);
  });

  test("an index lists the packages of all its images, each with its platform, across pages", async () => {
    const packages = (n: number) => Array.from({ length: 30 }, (_, each) => `p${(each * 7) % 30} ${n}-r0`);
    const pushed: Descriptor[] = [];
    for (const [n, architecture] of ["amd64", "arm64"].entries())
      pushed.push(
        await repo.push([await layerOf({ [APK]: apkDatabase(...packages(n)) })], { architecture, ...(n === 1 && { variant: "v8" }) }),
      );
    const index = await repo.pushIndex(pushed);
    const whole = await repo.read(index.digest);
    assert.equal(whole.packages.length, 60);
    assert.deepEqual(new Set(whole.packages.map(({ platform }) => platform)), new Set(["linux/amd64", "linux/arm64/v8"]));
    assert.deepEqual(new Set(whole.packages.map(({ imageDigest }) => imageDigest)), new Set(pushed.map(({ digest }) => digest)));
    const names = named(whole);
    assert.deepEqual(names, names.toSorted());
    const paged = [];
    let pageToken = "";
    do {
      const page = await world.must(listImagePackages, { uid: repo.uid, digest: index.digest, pageSize: 7, pageToken });
      assert.equal(page.scans.length, 2);
      paged.push(...page.packages);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    assert.deepEqual(paged, whole.packages);
    const first = await world.must(listImagePackages, { uid: repo.uid, digest: index.digest, pageSize: 7 });
    const elsewhere = { uid: repo.uid, digest: pushed[0]?.digest ?? "", pageToken: first.nextPageToken };
    assert.equal(codeOf(await world.rest.call(listImagePackages, elsewhere, world.owner.token)), Code.INVALID_ARGUMENT);
  });

  test("a manifest that is not an image has no packages, and an unknown digest is not found", async () => {
    const artifact = await repo.pushArtifact([["a chart", "application/vnd.cncf.helm.chart.content.v1.tar+gzip"]]);
    assert.deepEqual(
      [(await repo.list(artifact.digest)).state, (await repo.list(artifact.digest)).scans],
      [ImageScan_State.UNSPECIFIED, []],
    );
    const { digest } = await repo.push([await layerOf({ [APK]: apkDatabase("a 1-r0") })]);
    await repo.read(digest);
    using other = await createImageRepo(world);
    const gone = [
      { uid: repo.uid, digest: `sha256:${"0".repeat(64)}` },
      { uid: repo.uid, digest: "latest" },
      { uid: other.uid, digest },
      { uid: `${repo.uid}/0123456789abcdef`, digest },
    ];
    for (const client of [world.rest, world.grpc])
      for (const request of gone) assert.equal(codeOf(await client.call(listImagePackages, request, world.owner.token)), Code.NOT_FOUND);
    const reader = await world.robot(world.orgUid, [Capability.CAP_MANIFEST_METADATA_LIST]);
    const stranger = await world.robot(world.orgUid, [Capability.CAP_REPO_LIST]);
    for (const client of [world.rest, world.grpc]) {
      assert.equal(codeOf(await client.call(listImagePackages, { uid: repo.uid, digest }, reader.token)), 0);
      assert.equal(codeOf(await client.call(listImagePackages, { uid: repo.uid, digest }, stranger.token)), Code.PERMISSION_DENIED);
    }
  });

  test("deleting an organization deletes its package origins", async () => {
    const founder = await world.user();
    const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "founded" } }, founder.token);
    using own = await createImageRepo(world, founder.token, uid);
    const { digest } = await own.push([await layerOf({ [APK]: apkDatabase("libssl3 3.3.2-r1 openssl") })]);
    await own.read(digest);
    const origins = () =>
      world.store.reader.selectFrom("package_origin").select("origin").where("org_uid", "=", uid).orderBy("origin").execute();
    await until(async () => (await origins()).length > 0);
    assert.deepEqual(await origins(), [{ origin: "openssl" }]);
    await world.must(ReposService.method.deleteRepo, { uid: own.uid }, founder.token);
    await world.must(GroupsService.method.deleteGroup, { uid }, founder.token);
    assert.deepEqual(await origins(), []);
  });
});

test("the layers of an image share one limit of expanded bytes, including layers that fail", async () => {
  const allowance = new Allowance(1_000_000);
  const read = async (layer: Buffer) => readLayer(Readable.from([layer]), layer.length, new ImageFiles(), allowance);
  const layer = await layerOf({ [APK]: apkDatabase("a 1-r0"), "usr/big": Buffer.alloc(600_000) });
  assert.ok((await read(layer)).files.has(APK));
  await assert.rejects(read(layer), Unreadable);
  await assert.rejects(read(await layerOf({ [APK]: "" })), Unreadable);
});
