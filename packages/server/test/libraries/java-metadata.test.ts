/** Metadata of Maven artifacts, snapshots, groups and plugins on both stores, with a test client. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql } from "kysely";
import { mavenPlugins } from "../../src/libraries/migrations/017-maven-plugins.ts";
import { type Coordinates, folderOf, type MavenClient, pluginJar, pomOf } from "../harness/libraries/maven-client.ts";
import { assertRefused, createMavenWorld } from "../harness/libraries/maven-world.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const LIB = { groupId: "com.example", artifactId: "lib", version: "1.0" };
const at = (version: string) => ({ ...LIB, version });
const GROUP_METADATA = "com/example/maven-metadata.xml";
const PLUGIN = "<packaging>maven-plugin</packaging>";
const plugin = (artifactId: string, version = "1.0") => ({ groupId: "com.example", artifactId, version });
const prefix = (text: string) => `<goalPrefix>${text}</goalPrefix>`;
const jarPath = ({ artifactId, version, ...rest }: Coordinates) =>
  `${folderOf({ artifactId, version, ...rest })}/${artifactId}-${version}.jar`;

describeWithWorld("Maven metadata", (world: World) => {
  const java = createMavenWorld(world);
  after(() => java[Symbol.dispose]());
  const { library, listed } = java;

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
});
