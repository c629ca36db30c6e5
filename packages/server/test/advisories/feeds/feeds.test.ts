/** Tests access to feeds, HTTP conditions and compression, and that feeds follow what is written. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, beforeEach, it } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Advisories, type Advisory, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import {
  allowWriting,
  confirmed,
  detected,
  fixedIn,
  get,
  getJson,
  getZip,
  later,
  put,
  refuted,
} from "../../harness/advisories/feed-client.ts";
import { osv } from "../../harness/advisories/import-samples.ts";
import { importJson } from "../../harness/advisories/import-world.ts";
import fc from "../../harness/property.ts";
import { until } from "../../harness/wait.ts";
import { describeWithWorld, type World } from "../../harness/world.ts";

const FILES = ["osv.zip", "openvex.json", "csaf.zip", "secdb.json"];
const v1 = Advisories.method;

let count = 0;
const newId = () => `CGA-${String(++count).padStart(4, "0")}-2222-2222`;

function fileOf({ dataDir }: World, digest: string): string {
  const [algorithm = "", hex = ""] = digest.split(":");
  return join(dataDir, "blobs", algorithm, hex.slice(0, 2), hex);
}

/** The content of all feeds of the group, sorted. */
async function contentOf(world: World, group: string): Promise<unknown> {
  const [osv, csaf] = await Promise.all(["osv.zip", "csaf.zip"].map((file) => getZip(world, `${group}/${file}`)));
  const openvex = await get(world, `${group}/openvex.json`);
  const statements = openvex.status === 404 ? [] : (JSON.parse(openvex.bytes.toString()) as { statements: { "@id": string }[] }).statements;
  const { packages } = await getJson<{ packages: { pkg: { name: string } }[] }>(world, `${group}/secdb.json`);
  return {
    osv: [...(osv ?? [])].sort(),
    csaf: [...(csaf ?? [])].sort(),
    openvex: statements.sort((a, b) => (a["@id"] < b["@id"] ? -1 : 1)),
    secdb: packages.sort((a, b) => (a.pkg.name < b.pkg.name ? -1 : 1)),
  };
}

describeWithWorld("feeds", (world) => {
  let group: string;
  before(() => allowWriting(world));
  beforeEach(async () => {
    await later(world);
    group = await world.group(world.orgUid, "advisories");
  });
  const update = (advisory: Advisory, change: Pick<Advisory, "advisoryId" | "artifactName">) =>
    world.must(v1.update, { ...advisory, ...change, events: [] });
  const addEvent = (parentId: string, { type }: ReturnType<typeof fixedIn>) =>
    world.must(v1.createAdvisoryEvent, { parentId, advisoryEvent: { type: type as never, status: ReviewStatus.APPROVED } });

  it("the index of a group lists its feeds", async () => {
    const { feeds } = await getJson<{ feeds: { format: string; url: string }[] }>(world, group);
    assert.deepEqual(
      feeds.map(({ url }) => url),
      FILES.map((file) => `${world.baseUrl}/holt/v1/feeds/${group}/${file}`),
    );
    for (const { url } of feeds.filter(({ format }) => format !== "openvex")) assert.equal((await fetch(url)).status, 200);
  });

  it("anonymous callers can read the feeds of a public organization and of its folders", async () => {
    const advisory = await put(world, group, { advisoryId: newId() });
    for (const path of ["", ...FILES.map((file) => `/${file}`), `/osv/${advisory.advisoryId}.json`, `/csaf/${advisory.advisoryId}.json`]) {
      for (const token of ["", "nonsense", (await world.user()).token]) {
        const { status, headers } = await get(world, group + path, { token });
        assert.equal(status, 200, path);
        assert.match(headers.get("cache-control") ?? "", /public/);
      }
    }
    assert.equal((await get(world, `${world.orgUid}/osv.zip`, { token: "" })).status, 200);
  });

  it("a feed answers 304 if the client has the current version", async () => {
    const { advisoryId } = await put(world, group, { advisoryId: newId() });
    for (const path of [...FILES, `osv/${advisoryId}.json`, ""]) {
      const url = path === "" ? group : `${group}/${path}`;
      const first = await get(world, url, { headers: { "accept-encoding": "identity" } });
      const etag = first.headers.get("etag") ?? "";
      assert.match(etag, /^"[^"]{20,}"$/);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await get(world, url, { headers: { "if-none-match": known, "if-modified-since": "Thu, 01 Jan 1970 00:00:00 GMT" } });
        assert.equal(again.status, 304, path);
        assert.equal(again.bytes.length, 0);
        assert.equal(again.headers.get("cache-control"), first.headers.get("cache-control"));
      }
      assert.equal((await get(world, url, { headers: { "if-none-match": '"other"' } })).status, 200);
      if (path === "") continue;
      const modified = first.headers.get("last-modified") ?? "";
      assert.equal(Date.parse(modified), Math.floor(world.clock.now().getTime() / 1000) * 1000);
      const since = (text: string) => get(world, url, { headers: { "if-modified-since": text } });
      assert.equal((await since(modified)).status, 304);
      assert.equal((await since(new Date(Date.parse(modified) - 1000).toUTCString())).status, 200);
      assert.equal((await since("yesterday")).status, 200);
    }
  });

  it("HEAD returns the headers of GET without the content", async () => {
    await put(world, group, { advisoryId: newId() });
    for (const path of [...FILES.map((file) => `${group}/${file}`), group]) {
      const identity = { headers: { "accept-encoding": "identity" } };
      const [got, head] = [await get(world, path, identity), await get(world, path, { ...identity, method: "HEAD" })];
      assert.equal(head.status, 200);
      assert.equal(head.bytes.length, 0);
      assert.equal(Number(head.headers.get("content-length")), got.bytes.length);
      for (const name of ["etag", "last-modified", "content-type"]) assert.equal(head.headers.get(name), got.headers.get(name));
    }
  });

  it("a feed is compressed if the client accepts gzip, with a different entity tag", async () => {
    await put(world, group, { advisoryId: newId() });
    for (const file of ["openvex.json", "secdb.json"]) {
      const plain = await get(world, `${group}/${file}`, { headers: { "accept-encoding": "gzip;q=0" } });
      const packed = await Promise.all([0, 1, 2].map(() => get(world, `${group}/${file}`, { headers: { "accept-encoding": "br, gzip" } })));
      assert.equal(plain.headers.get("content-encoding"), null);
      for (const one of packed) {
        assert.equal(one.headers.get("content-encoding"), "gzip");
        assert.notEqual(one.headers.get("etag"), plain.headers.get("etag"));
        // fetch has decompressed it.
        assert.deepEqual(one.bytes, plain.bytes);
      }
      assert.equal(plain.headers.get("vary"), "accept-encoding");
    }
  });

  it("a feed changes when an event is approved, and has the time of that change", async () => {
    const advisory = await put(world, group, { advisoryId: newId(), events: [detected] });
    const before = await Promise.all(FILES.map((file) => get(world, `${group}/${file}`)));
    await later(world);
    await addEvent(advisory.id, fixedIn("7-r7"));
    for (const [i, file] of FILES.entries()) {
      const after = await get(world, `${group}/${file}`);
      assert.notEqual(after.headers.get("etag"), before[i]?.headers.get("etag"), file);
      assert.ok(Date.parse(after.headers.get("last-modified") ?? "") > Date.parse(before[i]?.headers.get("last-modified") ?? ""), file);
    }
    assert.match(JSON.stringify(await contentOf(world, group)), /7-r7/);
    await later(world);
    await world.must(v1.delete, { id: advisory.id });
    assert.deepEqual(await getZip(world, `${group}/osv.zip`), new Map());
    const { headers } = await get(world, `${group}/osv.zip`);
    assert.equal(Date.parse(headers.get("last-modified") ?? ""), Math.floor(world.clock.now().getTime() / 1000) * 1000);
  });

  it("a feed does not change while nothing that it contains changes", async () => {
    const advisory = await put(world, group, { advisoryId: newId() });
    const before = await Promise.all(["openvex.json", "secdb.json"].map((file) => get(world, `${group}/${file}`)));
    await later(world);
    await world.must(v1.createAdvisoryEvent, { parentId: advisory.id, advisoryEvent: { type: confirmed().type as never } });
    const after = await Promise.all(["openvex.json", "secdb.json"].map((file) => get(world, `${group}/${file}`)));
    for (const name of ["etag", "last-modified"])
      assert.deepEqual(
        after.map(({ headers }) => headers.get(name)),
        before.map(({ headers }) => headers.get(name)),
      );
  });

  it("an anonymous caller has a changed feed built again after five seconds, an authenticated caller at once", async () => {
    const read = (token?: string) => getZip(world, `${group}/osv.zip`, token);
    await put(world, group, { advisoryId: newId() });
    assert.equal((await read("")).size, 1);
    await put(world, group, { advisoryId: newId() });
    world.clock.advance(4999);
    assert.equal((await read("")).size, 1);
    assert.equal((await read()).size, 2);
    await put(world, group, { advisoryId: newId() });
    world.clock.advance(5000);
    assert.equal((await read("")).size, 3);
  });

  it("a rebuild renders only the changed advisories", async () => {
    const [kept, changed] = [await put(world, group, { advisoryId: newId() }), await put(world, group, { advisoryId: newId() })];
    await getZip(world, `${group}/osv.zip`);
    await later(world);
    await addEvent(changed.id, confirmed());
    const before = await getZip(world, `${group}/osv.zip`);
    await later(world);
    // Written directly to the database, so that only a complete build would notice.
    await world.store.transaction(async (db) => {
      const { body } = await db.selectFrom("advisory").select("body").where("uid", "=", kept.id).executeTakeFirstOrThrow();
      await db
        .updateTable("advisory")
        .set({ body: body.replaceAll("1.0-r0", "6.6-r6") })
        .where("uid", "=", kept.id)
        .execute();
    });
    await addEvent(changed.id, fixedIn("7-r7"));
    const after = await getZip(world, `${group}/osv.zip`);
    assert.equal(after.get(`${kept.advisoryId}.json`), before.get(`${kept.advisoryId}.json`));
    assert.match(after.get(`${changed.advisoryId}.json`) ?? "", /7-r7/);
  });

  it("feeds follow changes of public vulnerability records", async () => {
    const alias = `CVE-2026-${40_000 + ++count}`;
    await put(world, group, { advisoryId: newId(), aliases: [alias] });
    const secdb = await get(world, `${group}/secdb.json`);
    assert.doesNotMatch([...(await getZip(world, `${group}/osv.zip`))].join(), /Terrible/);
    await later(world);
    await importJson(world, osv({ id: alias, details: "Terrible." }), { kind: "vulnerabilities" });
    assert.match([...(await getZip(world, `${group}/osv.zip`))].join(), /Terrible/);
    assert.match([...(await getZip(world, `${group}/csaf.zip`))].join(), /Terrible/);
    assert.equal((await get(world, `${group}/secdb.json`)).headers.get("etag"), secdb.headers.get("etag"));
  });

  it("feeds follow a vulnerability record that was stored while the clock was behind", async () => {
    const [first, second] = [1, 2].map(() => `CVE-2026-${40_000 + ++count}`);
    await put(world, group, { advisoryId: newId(), aliases: [second ?? ""] });
    await importJson(world, osv({ id: first }), { kind: "vulnerabilities" });
    assert.doesNotMatch([...(await getZip(world, `${group}/osv.zip`))].join(), /Belated/);
    world.clock.advance(-2000);
    await importJson(world, osv({ id: second, details: "Belated." }), { kind: "vulnerabilities" });
    world.clock.advance(2000);
    await later(world);
    assert.match([...(await getZip(world, `${group}/osv.zip`))].join(), /Belated/);
  });

  it("feeds follow changes of group names", async () => {
    await put(world, group, { advisoryId: newId() });
    assert.match([...(await getZip(world, `${group}/osv.zip`))].join(), /pkg:apk\/wolfi\/openssl/);
    await world.must(GroupsService.method.updateGroup, { group: { uid: group, name: "alpine" }, updateMask: { paths: ["name"] } });
    assert.match([...(await getZip(world, `${group}/osv.zip`))].join(), /pkg:apk\/alpine\/openssl/);
    assert.equal((await getJson<{ reponame: string }>(world, `${group}/secdb.json`)).reponame, "alpine");
  });

  it("a feed built from changes equals a feed that is built from all advisories", async () => {
    const folder = await world.group(group, "below");
    const ids = Array.from({ length: 5 }, newId);
    const arbitraryChange = fc.record({
      what: fc.constantFrom("add", "add", "approve", "update", "delete", "read", "pass"),
      which: fc.nat(1000),
      id: fc.constantFrom(...ids),
      name: fc.constantFrom("openssl", "curl", "go"),
      parent: fc.constantFrom(group, folder),
      event: fc.constantFrom(fixedIn("2-r0"), fixedIn("3-r0"), refuted(2), confirmed("Yes."), detected),
    });
    const live: Advisory[] = [];
    for (const { what, which, id, name, parent, event } of fc.sample(arbitraryChange, { numRuns: 70, seed: 11 })) {
      world.clock.advance(1000);
      const advisory = live[which % Math.max(live.length, 1)];
      if (what === "add") {
        const given = { advisoryId: id, artifactName: name, componentName: `c${++count}`, aliases: [`CVE-2026-${id.slice(4, 8)}`] };
        live.push(await put(world, parent, { ...given, events: which % 2 ? [event] : [] }));
      } else if (what === "pass") await later(world);
      else if (what === "read") await contentOf(world, group);
      else if (advisory === undefined) continue;
      else if (what === "approve") await addEvent(advisory.id, event);
      else if (what === "update") await update(advisory, { advisoryId: id, artifactName: name });
      else {
        await world.must(v1.delete, { id: advisory.id });
        live.splice(live.indexOf(advisory), 1);
      }
    }
    const ofChanges = await contentOf(world, group);
    await world.store.transaction((db) => db.deleteFrom("feed").execute());
    const ofAll = await contentOf(world, group);
    assert.ok(JSON.stringify(ofAll).length > 1000);
    assert.deepEqual(ofChanges, ofAll);
  });

  it("a feed is rebuilt if its cached files are lost or cut off", async () => {
    const forget = () => world.store.transaction((db) => db.deleteFrom("feed").where("group_uid", "=", group).execute());
    for (const spoil of [(path: string) => rm(path, { force: true }), (path: string) => writeFile(path, "x")]) {
      for (const part of ["data", "gzip", "index"] as const) {
        await put(world, group, { advisoryId: newId() });
        const before = await contentOf(world, group);
        const rows = world.store.reader.selectFrom("feed_file").select("digest").where("group_uid", "=", group).where("part", "=", part);
        const digests = (await rows.execute()).map(({ digest }) => digest);
        assert.ok(digests.length > 0);
        for (const digest of digests) await spoil(fileOf(world, digest));
        assert.deepEqual(await contentOf(world, group), before);
        await put(world, group, { advisoryId: newId() });
        const after = await contentOf(world, group);
        assert.notDeepEqual(after, before);
        await forget();
        assert.deepEqual(await contentOf(world, group), after);
      }
    }
  });

  it("the files of earlier builds are removed when their readers had time to end", async () => {
    const digestsOf = async () =>
      (await world.store.reader.selectFrom("feed_file").select("digest").where("group_uid", "=", group).execute()).map(
        ({ digest }) => digest,
      );
    await put(world, group, { advisoryId: newId() });
    await getZip(world, `${group}/osv.zip`);
    const first = await digestsOf();
    assert.equal(first.length, 2);
    await put(world, group, { advisoryId: newId() });
    await getZip(world, `${group}/osv.zip`);
    assert.equal((await digestsOf()).length, 4);
    for (const digest of first) assert.ok(existsSync(fileOf(world, digest)));
    await later(world);
    await put(world, group, { advisoryId: newId() });
    await getZip(world, `${group}/osv.zip`);
    await until(async () => (await digestsOf()).every((digest) => !first.includes(digest)));
    await until(() => first.every((digest) => !existsSync(fileOf(world, digest))));
    const blobs = world.store.reader.selectFrom("blob").select("digest").where("digest", "in", first);
    await until(async () => (await blobs.execute()).length === 0);
  });

  it("concurrent requests share one build", async () => {
    for (let i = 0; i < 20; i++) await put(world, group, { advisoryId: newId() });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => get(world, `${group}/csaf.zip`, { token: i % 2 ? "" : world.owner.token })),
    );
    assert.deepEqual(new Set(answers.map(({ status, headers }) => `${status} ${headers.get("etag")}`)).size, 1);
    assert.equal(answers[0]?.status, 200);
  });

  it("feed paths accept escaped uids, and other paths and methods are refused as in REST", async () => {
    const { advisoryId } = await put(world, group, { advisoryId: newId() });
    const escaped = group.replaceAll("/", "%2F");
    assert.equal((await get(world, `${escaped}/osv.zip`)).status, 200);
    assert.equal((await get(world, `${escaped}/osv/${advisoryId}.json?x=y`)).status, 200);
    const wrong = [
      "",
      "x",
      `${group}/`,
      `${group}/nothing.zip`,
      `${group}/osv`,
      `${group}/osv/.json`,
      `${group}/osv/${advisoryId}`,
      `${group}/openvex/${advisoryId}.json`,
    ];
    for (const path of [...wrong, `${group}/%00.json`, `${group}/osv/%zz.json`, "..%2f..%2fetc", `${group.toUpperCase()}/osv.zip`]) {
      const { status, bytes } = await get(world, path);
      assert.equal(status, 404, path);
      assert.equal((JSON.parse(bytes.toString()) as { code: number }).code, 5);
    }
    assert.equal((await get(world, `${world.orgUid}/0123456789abcdef/osv.zip`)).status, 404);
    assert.equal((await get(world, `${group}/osv/${encodeURIComponent("../../x")}.json`)).status, 404);
    for (const method of ["POST", "PUT", "DELETE"]) assert.equal((await get(world, `${group}/osv.zip`, { method })).status, 405);
  });

  it("file names in archives cannot leave the folder into which they are extracted", async () => {
    const odd = ["../../etc/passwd", "CVE-2026-1/..", "ü ß", "."];
    for (const advisoryId of odd) await put(world, group, { advisoryId, componentName: advisoryId });
    const files = await getZip(world, `${group}/osv.zip`);
    assert.equal(files.size, odd.length);
    for (const [name, text] of files) {
      assert.match(name, /^(?!\.)[A-Za-z0-9%._-]+\.json$/);
      const { id } = JSON.parse(text) as { id: string };
      assert.equal((await get(world, `${group}/osv/${encodeURIComponent(id)}.json`)).bytes.toString(), text);
    }
    for (const name of (await getZip(world, `${group}/csaf.zip`)).keys()) assert.match(name, /^[-+a-z0-9_]+\.(json|txt|csv)$/);
  });
});

describeWithWorld(
  "feeds of private organizations",
  (world) => {
    before(() => allowWriting(world));

    it("only callers who may list an organization's advisories can read its private feeds, and others learn nothing about them", async () => {
      const folder = await world.group(world.orgUid, "folder");
      const beside = await world.group(world.orgUid, "beside");
      await put(world, folder, { advisoryId: "CGA-2222-2222-2222" });
      const reader = await world.robot(folder, [Capability.CAP_ADVISORIES_LIST]);
      const other = await world.robot(folder, [Capability.CAP_IAM_GROUPS_LIST]);
      const stranger = await world.user();
      const [missing, nowhere] = [`${folder}/0123456789abcdef`, "0".repeat(40)];
      for (const file of ["", "/osv.zip", "/openvex.json", "/osv/CGA-2222-2222-2222.json"]) {
        const statusOf = async (uid: string, token: string) => (await get(world, uid + file, { token })).status;
        for (const uid of [world.orgUid, folder, missing, nowhere]) {
          const { status, headers, bytes } = await get(world, uid + file, { token: "" });
          assert.equal(status, 401);
          assert.match(headers.get("www-authenticate") ?? "", /^Bearer /);
          assert.equal((JSON.parse(bytes.toString()) as { code: number }).code, 16);
          assert.equal(await statusOf(uid, "nonsense"), 401);
        }
        assert.equal(await statusOf(folder, reader.token), 200);
        assert.equal(await statusOf(missing, reader.token), 404);
        for (const uid of [world.orgUid, beside]) assert.equal(await statusOf(uid, reader.token), 403);
        for (const { token } of [other, stranger])
          for (const uid of [world.orgUid, folder, missing]) assert.equal(await statusOf(uid, token), 403);
        assert.equal(await statusOf(nowhere, stranger.token), 404);
      }
      const { headers } = await get(world, `${folder}/osv.zip`, { token: reader.token });
      assert.match(headers.get("cache-control") ?? "", /private/);
    });
  },
  { env: { HOLT_PUBLIC_ADVISORIES: "none" } },
);
