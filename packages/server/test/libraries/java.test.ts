/** Maven artifacts on both stores, with a test client: publishing, resolving, snapshots, access and deletion. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect, constants } from "node:http2";
import { after, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import { mavenPlugins } from "../../src/libraries/migrations/017-maven-plugins.ts";
import {
  type Coordinates,
  createMavenClient,
  folderOf,
  hashOf,
  type MavenClient,
  pluginJar,
  pomOf,
} from "../harness/libraries/maven-client.ts";
import { basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { giveTime, never } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { CAP_LIBRARIES_JAVA_LIST: LIST, CAP_LIBRARIES_JAVA_CREATE: CREATE } = Capability;
const LIB = { groupId: "com.example", artifactId: "lib", version: "1.0" };
const FOLDER = folderOf(LIB);
const at = (version: string) => ({ ...LIB, version });
const GROUP_METADATA = "com/example/maven-metadata.xml";
const PLUGIN = "<packaging>maven-plugin</packaging>";
const plugin = (artifactId: string, version = "1.0") => ({ groupId: "com.example", artifactId, version });
const prefix = (text: string) => `<goalPrefix>${text}</goalPrefix>`;
const jarPath = ({ artifactId, version, ...rest }: Coordinates) =>
  `${folderOf({ artifactId, version, ...rest })}/${artifactId}-${version}.jar`;

describeWithWorld("Maven artifacts", (world: World) => {
  const clients: RegistryClient[] = [];
  after(() => {
    for (const client of clients) client[Symbol.dispose]();
  });
  function as(authorization: string | undefined, path: string): MavenClient {
    const client = createRegistryClient(world.baseUrl, authorization);
    clients.push(client);
    return createMavenClient(client, path);
  }
  let groups = 0;
  /** Creates a library for one test. */
  async function library(): Promise<{ group: string; path: string; maven: MavenClient }> {
    const name = `java-${groups++}`;
    const path = `/libraries/java/my-org:${name}`;
    return { group: await world.group(world.orgUid, name), path, maven: as(basic("_token", world.token), path) };
  }
  const listed = async (group: string) => {
    const { artifacts } = await world.must(ArtifactsService.method.listArtifacts, { ecosystems: [Ecosystem.JAVA] });
    return artifacts.filter(({ uid }) => uid.startsWith(group));
  };
  async function assertRefused(answer: Promise<{ status: number; body: Buffer }>, status: number, words: RegExp = /./): Promise<void> {
    const { status: actual, body } = await answer;
    assert.equal(actual, status, body.toString());
    assert.match(body.toString(), words);
  }

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

  test("the metadata of an artifact lists its versions in Maven's order", async () => {
    const { group, maven } = await library();
    for (const version of ["1.10", "1.9", "2.0-rc1", "2.1-SNAPSHOT"])
      await maven.deploy(at(version), version, version.endsWith("SNAPSHOT") ? "20260101.000000-1" : undefined);
    const text = (await maven.resolve("com/example/lib/maven-metadata.xml")).toString();
    assert.deepEqual(
      [...text.matchAll(/<version>(.*)<\/version>/g)].map(([, version]) => version),
      ["1.9", "1.10", "2.0-rc1", "2.1-SNAPSHOT"],
    );
    assert.match(text, /<latest>2\.1-SNAPSHOT<\/latest>\s*<release>2\.0-rc1<\/release>/);
    assert.match(text, /<lastUpdated>\d{14}<\/lastUpdated>/);
    const [artifact] = await listed(group);
    assert.deepEqual([artifact?.latestVersion, artifact?.versionCount], ["1.10", 4]);
    const again = await maven.get("com/example/lib/maven-metadata.xml");
    const { etag = "" } = again.headers;
    assert.equal((await maven.get("com/example/lib/maven-metadata.xml", { "if-none-match": etag })).status, 304);
    for (const path of [
      "com/example/maven-metadata.xml",
      "com/example/other/maven-metadata.xml",
      "maven-metadata.xml",
      "../maven-metadata.xml",
    ])
      await assertRefused(maven.get(path), 404);
  });

  test("the metadata of a snapshot lists its newest builds", async () => {
    const { maven } = await library();
    const snapshot = at("1.0-SNAPSHOT");
    const folder = folderOf(snapshot);
    await maven.deploy(snapshot, "first", "20260101.000000-1");
    await maven.deployFile(`${folder}/lib-1.0-20260101.000000-1-sources.jar`, "sources");
    await maven.deploy(snapshot, "second", "20260102.030405-2");
    const text = (await maven.resolve(`${folder}/maven-metadata.xml`)).toString();
    assert.match(text, /<timestamp>20260102\.030405<\/timestamp>\s*<buildNumber>2<\/buildNumber>/);
    const newest = [
      ...text.matchAll(
        /(?:<classifier>(.*)<\/classifier>\s*)?<extension>(.*)<\/extension>\s*<value>(.*)<\/value>\s*<updated>(.*)<\/updated>/g,
      ),
    ].map((match) => match.slice(1));
    assert.deepEqual(newest.sort(), [
      [undefined, "jar", "1.0-20260102.030405-2", "20260102030405"],
      [undefined, "pom", "1.0-20260102.030405-2", "20260102030405"],
      ["sources", "jar", "1.0-20260101.000000-1", "20260101000000"],
    ]);
    assert.equal((await maven.resolve(`${folder}/lib-1.0-20260102.030405-2.jar`)).toString(), "second");
    assert.equal((await maven.resolve(`${folder}/lib-1.0-20260101.000000-1.jar`)).toString(), "first");
    await assertRefused(maven.put(`${folder}/lib-1.0-20260102.030405-2.jar`, "other"), 409);
    await maven.deployFile(`${folder}/lib-1.0-SNAPSHOT.war`, "named literally");
    assert.match((await maven.get(`${folder}/maven-metadata.xml`)).body.toString(), /<extension>war<\/extension>\s*<value>1\.0-SNAPSHOT</);
  });

  test("metadata of at most 1 MiB is accepted and discarded", async () => {
    const { maven } = await library();
    const MIB = 1024 * 1024;
    for (const name of ["maven-metadata.xml", "maven-metadata.xml.sha1"]) {
      assert.equal((await maven.put(`com/example/lib/${name}`, " ".repeat(MIB))).status, 200);
      await assertRefused(maven.put(`com/example/lib/${name}`, " ".repeat(MIB + 1)), 400, /the metadata is larger than 1048576 bytes/);
    }
    assert.equal((await maven.get("com/example/lib/maven-metadata.xml")).status, 404);
  });

  /** The plugins in the metadata of a group, as `prefix artifact`. */
  const pluginsIn = (text: string) =>
    [...text.matchAll(/<prefix>(.*)<\/prefix>\s*<artifactId>(.*)<\/artifactId>/g)].map(([, found, artifactId]) => `${found} ${artifactId}`);
  const pluginsAt = async (maven: MavenClient, path = GROUP_METADATA) => pluginsIn((await maven.resolve(path)).toString());

  test("the metadata of a group maps prefixes to plugins", async () => {
    const { maven } = await library();
    const greeter = plugin("greeter-maven-plugin");
    assert.equal((await maven.get(GROUP_METADATA)).status, 404);
    await maven.deploy(LIB, "jar");
    await assertRefused(maven.get(GROUP_METADATA), 404);
    await maven.deploy(
      greeter,
      pluginJar(greeter, `<name>Greets &lt;all&gt;\n &amp; more</name>${prefix("hello")}`),
      undefined,
      pomOf(greeter, PLUGIN),
    );
    await maven.deployFile(
      GROUP_METADATA,
      "<metadata><plugins><plugin><prefix>evil</prefix><artifactId>lib</artifactId></plugin></plugins></metadata>",
    );
    // These have the prefix of their name: one descriptor has no prefix, and the other jars are not archives.
    for (const [artifactId, jar] of [
      ["maven-tidy-plugin", pluginJar(plugin("maven-tidy-plugin"))],
      ["count-maven-plugin", Buffer.from("no archive")],
      ["empty-maven-plugin", Buffer.alloc(0)],
      ["maven-plugin", Buffer.from("the name leaves no prefix")],
    ] as const)
      await maven.deploy(plugin(artifactId), jar, undefined, pomOf(plugin(artifactId), PLUGIN));
    const snapshot = plugin("next-maven-plugin", "1.0-SNAPSHOT");
    await maven.deploy(snapshot, pluginJar(snapshot, prefix("later")), "20260101.000000-1", pomOf(snapshot, PLUGIN));
    const text = (await maven.resolve(GROUP_METADATA)).toString();
    assert.deepEqual(pluginsIn(text), [
      "count count-maven-plugin",
      "empty empty-maven-plugin",
      "hello greeter-maven-plugin",
      "later next-maven-plugin",
      "tidy maven-tidy-plugin",
    ]);
    assert.match(text, /<name>Greets &lt;all&gt; &amp; more<\/name>\s*<prefix>hello</);
    assert.doesNotMatch(text, /versioning|groupId/);
    const { etag = "" } = (await maven.get(GROUP_METADATA)).headers;
    assert.equal((await maven.get(GROUP_METADATA, { "if-none-match": etag })).status, 304);
    for (const path of ["com/maven-metadata.xml", "com/exampl/maven-metadata.xml", "com/example/greeter/maven-metadata.xml"])
      await assertRefused(maven.get(path), 404);
  });

  test("the metadata of a path that is a group and an artifact, or a snapshot, describes both", async () => {
    const { maven } = await library();
    const both = { groupId: "com", artifactId: "example", version: "1-SNAPSHOT" };
    const greeter = plugin("greeter-maven-plugin");
    const odd = { ...greeter, groupId: "com.example.1-SNAPSHOT" };
    const short = { ...greeter, groupId: "com" };
    await maven.deploy(both, "jar", "20260101.000000-1");
    for (const each of [greeter, odd, short]) await maven.deploy(each, pluginJar(each, prefix("hello")));
    for (const [path, words] of [
      [
        GROUP_METADATA,
        /<groupId>com<\/groupId>\s*<artifactId>example<\/artifactId>\s*<versioning>[\s\S]*<version>1-SNAPSHOT<[\s\S]*<\/versioning>\s*<plugins>/,
      ],
      [
        "com/example/1-SNAPSHOT/maven-metadata.xml",
        /<version>1-SNAPSHOT<\/version>\s*<versioning>[\s\S]*<buildNumber>1<[\s\S]*<\/versioning>\s*<plugins>/,
      ],
      ["com/maven-metadata.xml", /^<\?xml[^>]*>\s*<metadata[^>]*>\s*<plugins>/],
    ] as const) {
      assert.match((await maven.resolve(path)).toString(), words);
      assert.deepEqual(await pluginsAt(maven, path), ["hello greeter-maven-plugin"]);
    }
  });

  test("a prefix belongs to the plugin that was published last, and deleted plugins are not found", async () => {
    const { maven } = await library();
    const [old, newer] = [plugin("old-maven-plugin"), plugin("newer-maven-plugin")];
    await maven.deploy(old, pluginJar(old, prefix("hello")), undefined, pomOf(old, PLUGIN));
    await maven.deploy(
      plugin("old-maven-plugin", "1.1"),
      pluginJar(old, prefix("hi")),
      undefined,
      pomOf(plugin("old-maven-plugin", "1.1"), PLUGIN),
    );
    world.clock.advance(1000);
    await maven.deploy(newer, pluginJar(newer, prefix("hello")), undefined, pomOf(newer, PLUGIN));
    assert.deepEqual(await pluginsAt(maven), ["hello newer-maven-plugin", "hi old-maven-plugin"]);
    assert.equal((await maven.send("DELETE", jarPath(newer))).status, 204);
    assert.deepEqual(await pluginsAt(maven), ["hello old-maven-plugin", "hi old-maven-plugin", "newer newer-maven-plugin"]);
    for (const each of [old, newer]) assert.equal((await maven.send("DELETE", folderOf(each))).status, 204);
    assert.deepEqual(await pluginsAt(maven), ["hi old-maven-plugin"]);
    assert.equal((await maven.send("DELETE", "com/example/old-maven-plugin/1.1/")).status, 204);
    await assertRefused(maven.get(GROUP_METADATA), 404);
  });

  test("the descriptor in a jar names the plugin, and an invalid descriptor is refused", async () => {
    const { maven, group } = await library();
    const hello = plugin("hello-maven-plugin");
    for (const [jar, words] of [
      [pluginJar(hello, prefix("a:b")), /plugin\.xml cannot be used: goalPrefix is "a:b"/],
      [pluginJar(hello, prefix("&lt;b&gt;")), /goalPrefix is "<b>"/],
      [pluginJar(hello, prefix("a".repeat(201))), /at most 200/],
      [pluginJar(hello, "", "<plugin>"), /not well-formed XML/],
      [pluginJar(hello, "", "<project/>"), /the root element is not <plugin>/],
      [pluginJar(hello, "", "<!DOCTYPE plugin []><plugin/>"), /document type/],
      [pluginJar(hello, "", "<plugin>".repeat(200)), /nested/],
      [pluginJar(hello, "a".repeat(5_000_000)), /larger than/],
      [pluginJar(hello, " ".repeat(3_000_000)), /expands to more than 100 times its size/],
    ] as const)
      await assertRefused(maven.put(jarPath(hello), jar), 400, words);
    assert.deepEqual(await listed(group), []);
    // The descriptor of a bundled plugin does not count, nor does one in a jar with a classifier.
    await maven.deploy(hello, pluginJar(plugin("other-maven-plugin"), prefix("a:b")));
    await maven.deployFile(`${folderOf(hello)}/hello-maven-plugin-1.0-tests.jar`, pluginJar(hello, prefix("tests")));
    await assertRefused(maven.get(GROUP_METADATA), 404);
    await maven.deploy(LIB, pluginJar(LIB, prefix("lib")));
    assert.deepEqual(await pluginsAt(maven), ["lib lib"]);
  });

  test("plugins from before the migration are found by the prefix of their name", async () => {
    const { maven } = await library();
    const hello = plugin("hello-maven-plugin");
    await maven.deploy(hello, "jar", undefined, pomOf(hello, PLUGIN));
    const { statements } = mavenPlugins;
    await world.store.transaction(async (db) => {
      await db.updateTable("library_file").set({ plugin: 0 }).execute();
      for (const statement of statements(db.dialect)) if (statement.startsWith("update")) await sql.raw(statement).execute(db);
    });
    assert.deepEqual(await pluginsAt(maven), ["hello hello-maven-plugin"]);
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
    const raw = createRegistryClient(world.baseUrl, basic("_token", world.token));
    clients.push(raw);
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
    const outsider = as(
      basic("_token", (await world.robot(await world.group(world.orgUid, `other-${groups++}`), [LIST, CREATE])).token),
      path,
    );
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
