/** `holtd import libraries` as an operator runs it, next to a running server, on both stores. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { PythonProject_Status, PythonProjectsService } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { type Ended, runHoltd, startProcess, type TemporaryFolder, temporaryFolder } from "../harness/holtd.ts";
import { createMavenClient, folderOf, hashOf, pluginJar, pomOf } from "../harness/libraries/maven-client.ts";
import { type PackageOptions, sdist, sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const LIB = { groupId: "com.example", artifactId: "lib", version: "1.0" };
const FOLDER = folderOf(LIB);

describeWithWorld("imports of libraries", (world: World) => {
  let folder: TemporaryFolder;
  let client: RegistryClient;
  let names = 0;
  before(async () => {
    folder = await temporaryFolder();
    client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
  });
  after(async () => {
    client[Symbol.dispose]();
    await folder[Symbol.asyncDispose]();
  });

  /** A group of its own for each test, and files in a folder. */
  async function prepare(files: Readonly<Record<string, string | Buffer>>) {
    const name = `import-${names++}`;
    const group = await world.group(world.orgUid, name);
    const path = join(folder.path, name);
    const put = async (file: string, content: string | Buffer) => {
      await mkdir(dirname(join(path, file)), { recursive: true });
      await writeFile(join(path, file), content);
    };
    await mkdir(path);
    for (const [file, content] of Object.entries(files)) await put(file, content);
    return { name, group, path, put, owner: `my-org:${name}` };
  }
  const settings = () => ({
    HOLT_LISTEN: new URL(world.baseUrl).host,
    HOLT_DATA_DIR: world.dataDir,
    HOLT_DATABASE_URL: world.databaseUrl,
  });
  const run = (...args: string[]): Promise<Ended> => runHoltd(["import", "libraries", ...args], settings());
  const counts = ({ code, stdout, stderr }: Ended) => {
    const [, created, unchanged, problems, others] =
      /^Imported (\d+) files; (\d+) were published already, (\d+) could not be imported, (\d+) other files were skipped\./.exec(stdout) ??
      [];
    return {
      code,
      counts: [created, unchanged, problems, others].map(Number),
      problems: stderr
        .split("\n")
        // Lines of progress appear when an import takes long.
        .filter((line) => line !== "" && !/^\d+% \d+ files, /.test(line))
        .sort(),
    };
  };
  const listed = async (group: string, ecosystem: Ecosystem) => {
    const { artifacts } = await world.must(ArtifactsService.method.listArtifacts, { ecosystems: [ecosystem], pageSize: 200 });
    return artifacts.filter(({ uid }) => uid.startsWith(group)).map(({ name, latestVersion }) => `${name} ${latestVersion}`);
  };
  const get = (path: string) => client.send("GET", path, { headers: { accept: "application/vnd.pypi.simple.v1+json" } });
  const files = async (...packages: readonly PackageOptions[]) =>
    Object.fromEntries(
      packages.map((options) => wheel(options)).map(({ fileName, bytes }) => [`simple/${fileName.split("-")[0]}/${fileName}`, bytes]),
    );

  test("an import skips the files of an archived project and continues", async () => {
    const { path, group, owner, put } = await prepare(await files({ name: "one" }));
    await run("--ecosystem", "python", "--group", owner, path);
    const { listPythonProjects, updatePythonProject } = PythonProjectsService.method;
    const { pythonProjects } = await world.must(listPythonProjects, { uidp: { childrenOf: group } });
    const uid = pythonProjects[0]?.uid ?? "";
    await world.must(updatePythonProject, { pythonProject: { uid, status: PythonProject_Status.ARCHIVED } });
    for (const file of [wheel({ name: "one", version: "2.0" }), wheel({ name: "two" })]) await put(file.fileName, file.bytes);
    const result = counts(await run("--ecosystem", "python", "--group", owner, path));
    assert.deepEqual([result.code, result.counts], [3, [1, 1, 1, 0]]);
    assert.deepEqual(result.problems, ["one-2.0-py3-none-any.whl: the project one is archived and accepts no new files"]);
  });

  test("the packages of a tree are published once, and bad packages are skipped", async () => {
    const bad = wheel({ name: "liar" }).bytes;
    const source = await sdist({ name: "one", version: "1.1", code: randomBytes(1000).toString("hex") });
    const { path, group, owner, put } = await prepare({
      ...(await files({ name: "one" }, { name: "one", version: "2.0" }, { name: "two" })),
      [source.fileName]: source.bytes,
      "simple/index.html": "<a>",
      "simple/one/one-1.0-py3-none-any.whl.metadata": "",
      "odd/honest-1.0-py3-none-any.whl": bad,
      "odd/none-1.0-py3-none-any.whl": "no zip",
      "odd/tags-1.0-cp312-cp312-linux_x86_64.whl": wheel({ name: "tags", wheel: ["Tag: cp36-cp36m-linux_x86_64"] }).bytes,
      "odd/old-1.0.zip": "",
      "odd/\u001b[2J-1.0.tar.gz": "",
      ".hidden/one-9.0-py3-none-any.whl": "",
    });
    const first = counts(await run("--ecosystem", "python", "--group", owner, path));
    assert.deepEqual([first.code, first.counts], [3, [4, 0, 5, 2]], first.problems.join("\n"));
    for (const [i, expected] of [
      /^odd\/\?\[2J-1\.0\.tar\.gz: a file name has at most 255 letters/,
      /^odd\/honest-1\.0-py3-none-any\.whl: the wheel cannot be used: the folder "liar-1\.0\.dist-info" belongs to another package$/,
      /^odd\/none-1\.0-py3-none-any\.whl: the wheel cannot be used: not a valid zip archive/,
      /^odd\/old-1\.0\.zip: only wheels/,
      /^odd\/tags-1\.0-.*\.whl: the file name has the tag "cp312-cp312-linux_x86_64", but WHEEL has "cp36-cp36m-linux_x86_64"$/,
    ].entries())
      assert.match(first.problems[i] ?? "", expected);
    assert.deepEqual(await listed(group, Ecosystem.PYTHON), ["one 2.0", "two 1.0"]);
    const answer = await get(`/libraries/python/${owner}/files/${sha256Of(source.bytes)}/${source.fileName}`);
    assert.ok(answer.body.equals(source.bytes));

    await rm(join(path, "odd"), { recursive: true });
    const changed = wheel({ name: "two", code: "print()" });
    await put(`simple/two/${changed.fileName}`, changed.bytes);
    const again = counts(await run("--ecosystem=python", "--group", group, path));
    assert.deepEqual([again.code, again.counts, again.problems.length], [3, [0, 3, 1, 2], 1]);
    assert.match(again.problems[0] ?? "", /^simple\/two\/two-1\.0-py3-none-any\.whl: .* was published with other bytes/);
    assert.deepEqual(readdirSync(join(world.dataDir, "uploads")), []);
  });

  test("imported packages cause the same events as uploads, with the owner as actor, without delay", async () => {
    const { path, group, owner } = await prepare(await files({ name: "one" }, { name: "one", version: "2.0" }));
    const first = counts(await run("--ecosystem", "python", "--group", owner, path));
    assert.deepEqual([first.code, first.counts, first.problems], [0, [2, 0, 0, 0], []]);
    const pushEvents = async () =>
      (await world.must(EventsService.method.listEvents, { parent: group, types: ["libraries.push.v1"] })).events;
    await until(async () => (await pushEvents()).length > 0);
    await run("--ecosystem", "python", "--group", owner, path);
    const rows = await world.store.reader
      .selectFrom("outbox")
      .select(["type", "source", "data"])
      .where("group_uid", "=", group)
      .where("type", "like", "%.libraries.%")
      .orderBy("seq")
      .execute();
    const events = rows.map(({ type, source, data }) => ({ type, source, ...JSON.parse(data) }));
    assert.deepEqual(events.map(({ body }) => body.version).sort(), ["1.0", "2.0"]);
    for (const { type, source, actor } of events)
      assert.deepEqual(
        [type, source, actor],
        [
          "dev.holt.libraries.push.v1",
          `${world.baseUrl}/libraries`,
          { subject: world.owner.uid, act: { iss: world.baseUrl, sub: world.owner.uid, aud: world.baseUrl } },
        ],
      );
  });

  test("an import treats packages from uploads like packages from imports", async () => {
    const one = wheel({ name: "One" });
    const { path, owner } = await prepare({
      [one.fileName]: one.bytes,
      [wheel({ name: "one", version: "2.0" }).fileName]: wheel({ name: "one", version: "2.0" }).bytes,
    });
    assert.equal((await upload(client, owner, one)).status, 200);
    const result = counts(await run("--ecosystem", "python", "--group", owner, path));
    assert.deepEqual([result.code, result.counts], [3, [0, 1, 1, 0]]);
    assert.match(result.problems[0] ?? "", /^one-2\.0-.*the library has "One", the same name as "one" in another spelling/);
  });

  test("an import resumes after it was killed", async () => {
    const { path, group, owner } = await prepare(
      await files(...Array.from({ length: 200 }, (_, i) => ({ name: `p${i % 10}`, version: `1.${i}` }))),
    );
    const args = ["import", "libraries", "--ecosystem", "python", "--group", owner, path];
    {
      await using killed = startProcess(args, settings());
      const hasStarted = async () => (await listed(group, Ecosystem.PYTHON)).length > 0;
      await until(hasStarted);
      killed.kill("SIGKILL");
      await killed.ended;
    }
    const { code, counts: found } = counts(await run("--ecosystem", "python", "--group", owner, path));
    const [created = 0, unchanged = 0] = found;
    assert.deepEqual([code, created + unchanged], [0, 200]);
    assert.ok(unchanged > 0);
    const page = await get(`/libraries/python/${owner}/simple/p0/`);
    assert.equal((page.json() as { files: unknown[] }).files.length, 20);
  });

  test("an import reads only regular files within the folder", async () => {
    const outside = await prepare({ "secret-1.0-py3-none-any.whl": wheel({ name: "secret" }).bytes });
    const { path, group, owner } = await prepare(await files({ name: "one" }));
    await symlink(join(outside.path, "secret-1.0-py3-none-any.whl"), join(path, "secret-1.0-py3-none-any.whl"));
    await symlink(outside.path, join(path, "elsewhere"));
    await symlink("simple", join(path, "alias"));
    await symlink("..", join(path, "simple", "up"));
    await symlink("nothing", join(path, "nothing-1.0-py3-none-any.whl"));
    await mkdir(join(path, "folder-1.0-py3-none-any.whl"));
    await writeFile(join(path, "huge-1.0-py3-none-any.whl"), "");
    await truncate(join(path, "huge-1.0-py3-none-any.whl"), 17 * 1024 ** 3);
    execFileSync("mkfifo", [join(path, "pipe-1.0.tar.gz")]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(path, "s-1.0.tar.gz"), resolve));
    const result = counts(await run("--ecosystem", "python", "--group", owner, path));
    await new Promise((resolve) => server.close(resolve));
    assert.deepEqual([result.code, result.counts], [3, [1, 0, 6, 0]]);
    assert.deepEqual(result.problems, [
      "elsewhere: a link leads out of the folder",
      "huge-1.0-py3-none-any.whl: larger than 17179869184 bytes",
      "nothing-1.0-py3-none-any.whl: cannot be read: no such file or folder",
      "pipe-1.0.tar.gz: not a regular file",
      "s-1.0.tar.gz: cannot be read: not a regular file",
      "secret-1.0-py3-none-any.whl: a link leads out of the folder",
    ]);
    assert.deepEqual(await listed(group, Ecosystem.PYTHON), ["one 1.0"]);
  });

  test("a Maven repository is imported with its snapshots and signatures, and its checksums are verified", async () => {
    const snapshot = { ...LIB, version: "1.1-SNAPSHOT" };
    const build = `${folderOf(snapshot)}/lib-1.1-20260102.030405-2`;
    const [jar, pom] = [randomBytes(2000), pomOf(LIB, "<description>Does things</description>")];
    const { path, group, owner, put } = await prepare({
      [`${FOLDER}/lib-1.0.jar`]: jar,
      [`${FOLDER}/lib-1.0.jar.sha1`]: `${hashOf(jar, "sha1")}  lib-1.0.jar\n`,
      [`${FOLDER}/lib-1.0.jar.sha512`]: hashOf(jar, "sha512"),
      [`${FOLDER}/lib-1.0.jar.asc`]: "signature",
      [`${FOLDER}/lib-1.0.jar.asc.md5`]: hashOf("signature", "md5"),
      [`${FOLDER}/lib-1.0-sources.jar`]: "",
      [`${FOLDER}/lib-1.0.pom`]: pom,
      [`${FOLDER}/_remote.repositories`]: "",
      "com/example/lib/maven-metadata.xml": "<metadata/>",
      "com/example/lib/maven-metadata.xml.sha1": "wrong",
      "com/example/lib/maven-metadata-central.xml": "<metadata/>",
      [`${build}.jar`]: "build",
      [`${build}.pom`]: pomOf(snapshot),
      [`${FOLDER}/lib-1.0-bad.jar`]: "bad",
      [`${FOLDER}/lib-1.0-bad.jar.sha1`]: hashOf("good", "sha1"),
      [`${FOLDER}/lib-1.0-none.jar`]: "none",
      [`${FOLDER}/lib-1.0-none.jar.sha256`]: "nonsense",
      [`${FOLDER}/lib-1.0-gone.jar.sha256`]: hashOf("gone", "sha256"),
      [`${FOLDER}/other-1.0.jar`]: "other",
      "releases/com/example/moved/1.0/moved-1.0.jar": "moved",
      "releases/com/example/moved/1.0/moved-1.0.pom": pomOf({ ...LIB, artifactId: "moved" }),
    });
    const result = counts(await run("--ecosystem", "java", "--group", owner, path));
    assert.deepEqual([result.code, result.counts], [3, [6, 0, 6, 9]], result.problems.join("\n"));
    for (const [i, expected] of [
      /^com\/example\/lib\/1\.0\/lib-1\.0-bad\.jar: the file's \.sha1 is "[0-9a-f]{40}", but the received file has [0-9a-f]{40}$/,
      /lib-1\.0-gone\.jar\.sha256: the file lib-1\.0-gone\.jar is missing$/,
      /lib-1\.0-none\.jar: not a hexadecimal sha256$/,
      /other-1\.0\.jar: the names of files in this folder begin with lib-1\.0/,
      /^releases.*moved-1\.0\.jar: the POM's groupId is "com\.example", but the path says "releases\.com\.example"$/,
      /^releases.*moved-1\.0\.pom: the POM's groupId is/,
    ].entries())
      assert.match(result.problems[i] ?? "", expected);
    assert.deepEqual(await listed(group, Ecosystem.JAVA), ["com.example:lib 1.0"]);
    const maven = createMavenClient(client, `/libraries/java/${owner}`);
    assert.ok((await maven.resolve(`${FOLDER}/lib-1.0.jar`)).equals(jar));
    assert.equal((await maven.resolve(`${build}.jar`)).toString(), "build");
    assert.match((await maven.resolve(`${folderOf(snapshot)}/maven-metadata.xml`)).toString(), /<buildNumber>2<\/buildNumber>/);
    assert.match((await maven.resolve("com/example/lib/maven-metadata.xml")).toString(), /<release>1\.0<\/release>/);
    for (const missing of ["bad.jar", "none.jar"]) assert.equal((await maven.get(`${FOLDER}/lib-1.0-${missing}`)).status, 404);

    await put(`${FOLDER}/lib-1.0.jar.sha1`, hashOf("other", "sha1"));
    const again = counts(await run("--ecosystem", "java", "--group", owner, path));
    assert.deepEqual([again.counts, again.problems.length], [[0, 5, 7, 9], 7]);
  });

  test("the plugins of an imported Maven repository are found by their prefixes, like uploaded plugins", async () => {
    const plugin = { groupId: "com.example", artifactId: "greeter-maven-plugin", version: "1.0" };
    const bad = { ...plugin, version: "1.1" };
    const stem = (of: typeof plugin) => `${folderOf(of)}/${of.artifactId}-${of.version}`;
    const { path, owner } = await prepare({
      [`${stem(plugin)}.jar`]: pluginJar(plugin, "<goalPrefix>hello</goalPrefix>"),
      [`${stem(plugin)}.pom`]: pomOf(plugin, "<packaging>maven-plugin</packaging>"),
      [`${stem(bad)}.jar`]: pluginJar(bad, "<goalPrefix>a b</goalPrefix>"),
      "com/example/maven-metadata.xml": "<metadata/>",
    });
    const { counts: found, problems } = counts(await run("--ecosystem", "java", "--group", owner, path));
    assert.deepEqual([found, problems.length], [[2, 0, 1, 1], 1]);
    assert.match(problems[0] ?? "", /-1\.1\.jar: the jar's META-INF\/maven\/plugin\.xml cannot be used: goalPrefix is "a b"/);
    const maven = createMavenClient(client, `/libraries/java/${owner}`);
    assert.match(
      (await maven.resolve("com/example/maven-metadata.xml")).toString(),
      /<prefix>hello<\/prefix>\s*<artifactId>greeter-maven-plugin</,
    );
  });

  test("an empty folder is imported, and a missing group is not created", async () => {
    const { path, owner } = await prepare({});
    assert.deepEqual(counts(await run("--ecosystem", "python", "--group", owner, path)).counts, [0, 0, 0, 0]);
    const { code, stderr } = await run("--ecosystem", "python", "--group", `${owner}:x`, path);
    assert.equal(code, 1);
    assert.match(stderr, /there is no group "my-org:import-\d+:x"/);
  });
});

test("wrong arguments and unreadable folders are refused with an explanation", async () => {
  await using folder = await temporaryFolder();
  for (const [args, code, words] of [
    [[folder.path], 2, /--ecosystem must be python or java\n\nUsage/],
    [["--ecosystem", "python"], 2, /name one folder/],
    [["--ecosystem", "python", folder.path, folder.path], 2, /name one folder/],
    [["--ecosystem", "python", "--owner", "my-org", folder.path], 2, /--owner/],
    [["--ecosystem", "python", join(folder.path, "nowhere")], 1, /cannot read .*nowhere: no such file or folder/],
    [["--ecosystem", "python", "/dev/null"], 1, /not a folder/],
  ] as const) {
    const ended = await runHoltd(["import", "libraries", ...args], { HOLT_DATA_DIR: folder.path });
    assert.equal(ended.code, code, `${args.join(" ")}: ${ended.stderr}`);
    assert.match(ended.stderr, words);
  }
});
