/** Maven artifacts on both stores, with a test client: publishing, resolving, access and deletion. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect, constants } from "node:http2";
import { after, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { folderOf, hashOf, pomOf } from "../harness/libraries/maven-client.ts";
import { assertRefused, createMavenWorld } from "../harness/libraries/maven-world.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { giveTime, never } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { CAP_LIBRARIES_JAVA_LIST: LIST, CAP_LIBRARIES_JAVA_CREATE: CREATE } = Capability;
const LIB = { groupId: "com.example", artifactId: "lib", version: "1.0" };
const FOLDER = folderOf(LIB);
const at = (version: string) => ({ ...LIB, version });

describeWithWorld("Maven artifacts", (world: World) => {
  const java = createMavenWorld(world);
  after(() => java[Symbol.dispose]());
  const { as, library, listed } = java;

  test("deployed files are resolved unchanged, with their checksums, and are listed", async () => {
    const { group, maven } = await library();
    const jar = randomBytes(100_000);
    await maven.deploy(LIB, jar, undefined, pomOf(LIB, "<description>Does\n  <![CDATA[<things>]]> &amp; more</description>"));
    await maven.deployFile(`${FOLDER}/lib-1.0.jar.asc`, "signature");
    await maven.deployFile(`${FOLDER}/lib-1.0-sources.tar.gz`, "");
    assert.ok((await maven.resolve(`${FOLDER}/lib-1.0.jar`)).equals(jar));
    assert.equal((await maven.resolve(`${FOLDER}/lib-1.0.jar.asc`)).toString(), "signature");
    assert.equal((await maven.resolve(`${FOLDER}/lib-1.0-sources.tar.gz`)).length, 0);
    assert.match((await maven.resolve(`${FOLDER}/lib-1.0.pom`)).toString(), /<artifactId>lib</);
    const [artifact, ...others] = await listed(group);
    assert.deepEqual(
      [artifact?.name, artifact?.latestVersion, artifact?.versionCount, artifact?.description, others],
      ["com.example:lib", "1.0", 1, "Does <things> & more", []],
    );
    await assertRefused(maven.get(`${FOLDER}/lib-1.0-javadoc.jar`), 404);
    await assertRefused(maven.get(`${FOLDER}/lib-1.0-javadoc.jar.sha1`), 404);
  });

  test("files support ranges and conditional requests, and their checksums are in headers", async () => {
    const { maven } = await library();
    const bytes = randomBytes(1000);
    const path = `${FOLDER}/lib-1.0.jar`;
    await maven.deployFile(path, bytes);
    const part = await maven.get(path, { range: "bytes=10-19" });
    assert.deepEqual([part.status, part.headers["content-range"]], [206, "bytes 10-19/1000"]);
    assert.ok(part.body.equals(bytes.subarray(10, 20)));
    await assertRefused(maven.get(path, { range: "bytes=1000-" }), 416);
    const head = await maven.send("HEAD", path);
    assert.deepEqual(
      [head.status, head.headers["content-length"], head.headers["x-checksum-sha1"], head.headers["content-type"], head.body.length],
      [200, "1000", hashOf(bytes, "sha1"), "application/java-archive", 0],
    );
    assert.equal((await maven.get(path, { "if-none-match": head.headers.etag ?? "" })).status, 304);
  });

  test("the same bytes change nothing, and other bytes under the same name are refused", async () => {
    const { maven, group } = await library();
    await maven.deploy(LIB, "jar");
    const before = await listed(group);
    assert.equal((await maven.put(`${FOLDER}/lib-1.0.jar`, "jar")).status, 200);
    await assertRefused(maven.put(`${FOLDER}/lib-1.0.jar`, "other"), 409, /other bytes/);
    assert.equal((await maven.resolve(`${FOLDER}/lib-1.0.jar`)).toString(), "jar");
    assert.deepEqual(await listed(group), before);
    assert.equal((await maven.put(`${FOLDER}/lib-1.0-new.jar`, "jar")).status, 201);
  });

  test("wrong checksums and checksums without a file are refused", async () => {
    const { maven, group } = await library();
    const path = `${FOLDER}/lib-1.0.jar`;
    await assertRefused(maven.put(`${path}.sha1`, hashOf("jar", "sha1")), 409, /publish it before/);
    assert.equal((await maven.put(path, "jar")).status, 201);
    await assertRefused(maven.put(`${path}.sha1`, hashOf("other", "sha1")), 400, /lib-1\.0\.jar\.sha1/);
    await assertRefused(maven.put(`${path}.sha256`, hashOf("jar", "sha1")), 400, /not a hexadecimal sha256/);
    await assertRefused(maven.put(`${path}.md5`, "x".repeat(5000)), 400);
    assert.equal((await maven.put(`${path}.sha1`, `${hashOf("jar", "sha1")}  lib-1.0.jar\n`)).status, 200);
    assert.equal((await maven.put(`${path}.md5`, `MD5 (lib-1.0.jar) = ${hashOf("jar", "md5").toUpperCase()}`)).status, 200);
    const announced = { "x-checksum-sha1": hashOf("other", "sha1") };
    await assertRefused(maven.put(`${FOLDER}/lib-1.0-announced.jar`, "jar", announced), 400, /sha1/);
    await assertRefused(maven.get(`${FOLDER}/lib-1.0-announced.jar`), 404);
    assert.equal((await listed(group)).length, 1);
  });

  test("a POM must belong to its path", async () => {
    const { maven, group } = await library();
    const path = `${FOLDER}/lib-1.0.pom`;
    const bad: [pom: string, words: RegExp][] = [
      [pomOf(at("2.0")), /version is "2\.0"/],
      [pomOf({ ...LIB, artifactId: "other" }), /artifactId is "other"/],
      [pomOf({ ...LIB, groupId: "org.example" }), /groupId is "org\.example"/],
      ["<project><artifactId>lib</artifactId></project>", /no groupId/],
      ["<html/>", /root/],
      ["<project><artifactId>lib", /not well-formed XML/],
      ["", /not well-formed XML/],
      ["\0", /not well-formed XML/],
      [`<!DOCTYPE project [<!ENTITY a "b">]>${pomOf(LIB).replace(/<\?.*\?>/, "")}`, /document type/],
      [pomOf(LIB, "<name>&a;</name>"), /not well-formed XML/],
      ["<project>".repeat(200), /nested/],
      [pomOf(LIB, `<name>${"a".repeat(1_100_000)}</name>`), /larger/],
      [pomOf(LIB).replace("UTF-8", "nonsense"), /encoding/],
    ];
    for (const [pom, words] of bad) await assertRefused(maven.put(path, pom), 400, words);
    assert.deepEqual(await listed(group), []);
    const inherited = `<project><parent><groupId>com.example</groupId><artifactId>p</artifactId><version>1.0</version></parent>
      <artifactId>lib</artifactId><version>\${revision}</version></project>`;
    assert.equal((await maven.put(path, inherited)).status, 201);
    const named = pomOf(at("1.1"), "<description>Of J&oslash;rgen &amp; co&period; &#38; &lt;all&gt;</description>");
    assert.equal((await maven.put(`${folderOf(at("1.1"))}/lib-1.1.pom`, named)).status, 201);
    assert.equal((await listed(group))[0]?.description, "Of Jørgen & co. & <all>");
  });

  test("a description and a packaging that are cut within an emoji do not prevent later uploads", async () => {
    const { maven, group } = await library();
    for (const version of ["1.0", "1.1"]) {
      const texts = `<description>${"a".repeat(2047)}😀</description><packaging>${"b".repeat(99)}😀</packaging>`;
      const { status, body } = await maven.put(`${folderOf(at(version))}/lib-${version}.pom`, pomOf(at(version), texts));
      assert.equal(status, 201, body.toString());
    }
    assert.equal((await listed(group))[0]?.description, `${"a".repeat(2047)}\ufffd`);
  });

  test("paths outside the layout are refused for uploads and not found for downloads", async () => {
    const { maven, group } = await library();
    const paths = [
      "lib-1.0.jar",
      "lib/1.0/lib-1.0.jar",
      "com/example/lib/1.0/other-1.0.jar",
      "com/example/lib/1.0/lib-1.0.1.jar",
      "com/example/lib/1.0/lib-2.0.jar",
      "com/example/lib/1.0/lib-1.0",
      "com/example/lib/1.0/lib-1.0-20260101.000000-1",
      "com/example/lib/1.0-SNAPSHOT/lib-1.0-20260101-1.jar",
      "com/example/lib/1.0/lib-1.0.jar/",
      "com//example/lib/1.0/lib-1.0.jar",
      "com/%2e%2e/lib/1.0/lib-1.0.jar",
      "com/example/..%2flib/1.0/lib-1.0.jar",
      "com/example/%2e%2e/1.0/..-1.0.jar",
      "com/exa.mple/lib/1.0/lib-1.0.jar",
      "com/example/lib/%2e%2e/lib-...jar",
      "com/example/li%20b/1.0/li%20b-1.0.jar",
      "com/example/lib/1.0/lib-1.0-%3Cb%3E.jar",
      "com/example/l%C3%AFb/1.0/l%C3%AFb-1.0.jar",
      `com/example/${"a".repeat(300)}/1.0/${"a".repeat(300)}-1.0.jar`,
      `${"a/".repeat(100)}lib/1.0/lib-1.0.jar`,
      `com/example/lib/1.0/lib-1.0-${"a".repeat(300)}.jar`,
    ];
    for (const path of paths) {
      await assertRefused(maven.put(path, "jar"), 400, /path/);
      await assertRefused(maven.get(path), 404);
    }
    await assertRefused(maven.put("com/example/lib/1.0/lib-1.0%00.jar", "jar"), 400);
    await assertRefused(maven.send("POST", `${FOLDER}/lib-1.0.jar`), 405);
    assert.deepEqual(await listed(group), []);
  });

  test("an interrupted upload leaves nothing behind", async () => {
    const { path, maven } = await library();
    const jar = `${FOLDER}/lib-1.0.jar`;
    using raw = createRegistryClient(world.baseUrl, basic("_token", world.token));
    const request = raw.open("PUT", `${path}/${jar}`, { "content-length": "1000000" });
    request.on("error", () => {});
    request.write(randomBytes(500_000));
    await giveTime(100);
    request.destroy();

    const session = connect(world.baseUrl);
    const stream = session.request({ ":method": "PUT", ":path": `${path}/${jar}`, authorization: basic("_token", world.token) });
    stream.on("error", () => {});
    stream.write(randomBytes(10_000));
    await giveTime(100);
    stream.close(constants.NGHTTP2_CANCEL);
    await never(() => assertRefused(maven.get(jar), 404));
    session.destroy();
    assert.equal((await maven.put(jar, "whole")).status, 201);
  });

  test("a reader cannot publish, and a caller without capabilities cannot tell whether the library exists", async () => {
    const { path, group, maven } = await library();
    await maven.deploy(LIB, "jar");
    const file = `${FOLDER}/lib-1.0.jar`;
    const reader = as(basic("_token", (await world.robot(group, [LIST])).token), path);
    const writer = as(`Bearer ${(await world.robot(group, [LIST, CREATE])).token}`, path);
    const outsider = as(basic("_token", (await world.robot(await world.group(world.orgUid, "other"), [LIST, CREATE])).token), path);
    const anonymous = as(undefined, path);

    assert.equal((await reader.resolve(file)).toString(), "jar");
    for (const put of [
      reader.put(`${FOLDER}/lib-1.0-a.jar`, "a"),
      reader.put("com/example/lib/maven-metadata.xml", "a"),
      reader.send("DELETE", file),
    ])
      await assertRefused(put, 403, /libraries\.java\.create/);
    await writer.deploy(at("1.1"), "next");
    for (const answer of [
      outsider.get(file),
      outsider.put(file, "jar"),
      outsider.send("DELETE", file),
      outsider.get("com/example/lib/maven-metadata.xml"),
    ])
      await assertRefused(answer, 404, /Library/);
    for (const answer of [await anonymous.get(file), await anonymous.put(file, "jar")])
      assert.deepEqual([answer.status, answer.headers["www-authenticate"]], [401, 'Basic realm="Holt"']);
    await assertRefused(as(basic("_token", world.token), "/libraries/java/my-org:nowhere").get(file), 404, /Library/);
  });

  test("a publisher can delete files and versions, and the metadata follows", async () => {
    const { maven, group } = await library();
    for (const version of ["1.0", "1.0.0", "1.1"]) await maven.deploy(at(version), version);
    assert.equal((await maven.send("DELETE", `${FOLDER}/lib-1.0.jar`)).status, 204);
    await assertRefused(maven.get(`${FOLDER}/lib-1.0.jar.sha1`), 404);
    await assertRefused(maven.send("DELETE", `${FOLDER}/lib-1.0.jar`), 404);
    assert.equal((await maven.send("DELETE", "com/example/lib/1.1/")).status, 204);
    assert.equal((await maven.send("DELETE", FOLDER)).status, 204);
    assert.match(
      (await maven.get("com/example/lib/maven-metadata.xml")).body.toString(),
      /<versions>\s*<version>1\.0\.0<\/version>\s*<\/versions>/,
    );
    assert.equal((await listed(group))[0]?.latestVersion, "1.0.0");
    await assertRefused(maven.send("DELETE", FOLDER), 404);
    await assertRefused(maven.send("DELETE", "com/example"), 400);
    assert.equal((await maven.send("DELETE", "com/example/lib/1.0.0")).status, 204);
    await assertRefused(maven.get("com/example/lib/maven-metadata.xml"), 404);
    assert.deepEqual(await listed(group), []);
    await maven.deploy(LIB, "again");
  });

  test("publishing and deleting cause one event per file", async () => {
    const { maven, group } = await library();
    await maven.deploy(LIB, "jar");
    await maven.deploy(LIB, "jar");
    await maven.deploy(at("1.1"), "next");
    assert.equal((await maven.send("DELETE", `${FOLDER}/lib-1.0.jar`)).status, 204);
    assert.equal((await maven.send("DELETE", "com/example/lib/1.1/")).status, 204);
    await assertRefused(maven.send("DELETE", "com/example/lib/1.1/"), 404);
    const rows = await world.store.reader
      .selectFrom("outbox")
      .select(["type", "data"])
      .where("group_uid", "=", group)
      .where("type", "like", "%.libraries.%")
      .orderBy("seq")
      .execute();
    const events = rows.map(({ type, data }) => {
      const { body, actor } = JSON.parse(data);
      assert.deepEqual([body.name, body.ecosystem, actor.subject], ["com.example:lib", "ECOSYSTEM_JAVA", world.owner.uid]);
      return `${type} ${body.version} ${body.file} ${body.digest === `sha256:${hashOf("jar", "sha256")}`}`;
    });
    assert.deepEqual(events, [
      "dev.holt.libraries.push.v1 1.0 1.0/lib-1.0.jar true",
      "dev.holt.libraries.push.v1 1.0 1.0/lib-1.0.pom false",
      "dev.holt.libraries.push.v1 1.1 1.1/lib-1.1.jar false",
      "dev.holt.libraries.push.v1 1.1 1.1/lib-1.1.pom false",
      "dev.holt.libraries.delete.v1 1.0 1.0/lib-1.0.jar true",
      "dev.holt.libraries.delete.v1 1.1 1.1/lib-1.1.jar false",
      "dev.holt.libraries.delete.v1 1.1 1.1/lib-1.1.pom false",
    ]);
  });
});
