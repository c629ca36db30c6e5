/** holt configure writes the settings of other tools and can undo it. */
import assert from "node:assert/strict";
import { lstat, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { freePort } from "../../server/test/harness/free-port.ts";
import { type CommandLineWorld, startCommandLineWorld } from "./harness.ts";

describe("holt configure", () => {
  const world = {} as CommandLineWorld;
  before(async () => void Object.assign(world, await startCommandLineWorld()));
  after(() => world[Symbol.asyncDispose]());

  const file = (...segments: string[]) => join(world.holt.folder, ...segments);
  const pullTokens = () => world.holt.json<{ userName: string }[]>(["iam", "pull-tokens", "list"]);

  test("docker asks holt for tokens, other settings stay, and undo restores the file", async () => {
    const path = file(".docker/config.json");
    await mkdir(file(".docker"));
    const before = '{\n  "auths": { "other.test": {} }\n}\n';
    await writeFile(path, before);
    const refused = await world.holt.run(["configure", "docker"]);
    assert.equal(refused.status, 2, "nobody can answer the question");
    assert.match(refused.stderr, /\+ +"127\.0\.0\.1:\d+": "holt"/);
    assert.equal(await readFile(path, "utf8"), before);
    await world.holt.must(["configure", "docker", "--yes"]);
    const settings = JSON.parse(await readFile(path, "utf8"));
    assert.deepEqual(settings, { auths: { "other.test": {} }, credHelpers: { [new URL(world.baseUrl).host]: "holt" } });
    await world.holt.must(["configure", "docker", "--undo", "--yes"]);
    assert.equal(await readFile(path, "utf8"), before);
  });

  test("a private file stays private and a symbolic link stays a link, also after undo", async () => {
    const env = { DOCKER_CONFIG: file("docker"), NETRC: file("links/netrc") };
    for (const folder of ["docker", "links", "real"]) await mkdir(file(folder));
    const before = '{\n  "auths": {}\n}\n';
    await writeFile(file("real/config.json"), before, { mode: 0o600 });
    await symlink("../real/config.json", file("docker/config.json"));
    await symlink(file("real/netrc"), file("links/netrc"));
    const modes = () => Promise.all(["config.json", "netrc"].map(async (name) => (await stat(file("real", name))).mode & 0o777));
    const areLinks = async () =>
      (await Promise.all(["docker/config.json", "links/netrc"].map((path) => lstat(file(path))))).every((found) => found.isSymbolicLink());

    await world.holt.must(["configure", "docker", "--yes"], { env });
    await world.holt.must(["configure", "pip", "my-org", "--yes"], { env });
    assert.deepEqual([await modes(), await areLinks()], [[0o600, 0o600], true]);
    assert.match(await readFile(file("real/config.json"), "utf8"), /"holt"/);
    for (const tool of ["docker", "pip"]) await world.holt.must(["configure", tool, "--undo", "--yes"], { env });
    assert.equal(await readFile(file("docker/config.json"), "utf8"), before);
    assert.deepEqual([(await stat(file("real/config.json"))).mode & 0o777, await areLinks()], [0o600, true]);
  });

  test("pip gets a pull token that works, which the difference hides and undo revokes", async () => {
    const { holt } = world;
    const { stderr } = await holt.run(["configure", "pip", "my-org", "--yes"]);
    assert.match(stderr, /login \*{8} password \*{8}/);
    const [, index = ""] = /^index-url = (\S+)$/m.exec(await readFile(file("config/pip/pip.conf"), "utf8")) ?? [];
    assert.equal(index, `${world.baseUrl}/libraries/python/my-org/simple/`);
    assert.equal((await stat(file(".netrc"))).mode & 0o777, 0o600);
    const [, user = "", password = ""] = /login (\S+) password (\S+)/.exec(await readFile(file(".netrc"), "utf8")) ?? [];
    const read = () => fetch(index, { headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` } });
    assert.equal((await read()).status, 200);
    assert.equal((await holt.run(["configure", "pip", "my-org", "--yes"])).status, 1, "a second token would be lost");
    await holt.must(["configure", "pip", "--undo", "--yes"]);
    assert.equal((await read()).status, 401);
    await assert.rejects(stat(file(".netrc")), /ENOENT/);
  });

  test("a tool whose settings cannot be written keeps no pull token and no part of the settings", async () => {
    await writeFile(file("no-folder"), "");
    const unwritable = file("no-folder", "holt");
    const env = { HOLT_URL: world.baseUrl, HOLT_TOKEN: world.token, HOLT_CONFIG_DIR: unwritable };
    assert.equal((await world.holt.run(["configure", "pip", "my-org", "--yes"], { env })).status, 1);
    assert.deepEqual(await pullTokens(), []);
    // The name has no room for the suffix of the temporary file.
    const longName = file("n".repeat(250));
    const netrc = await world.holt.run(["configure", "pip", "my-org", "--yes"], { env: { NETRC: longName } });
    assert.equal(netrc.status, 1);
    assert.ok(
      netrc.stderr.includes(`holt: ${longName} cannot be written (ENAMETOOLONG)\n  → let the command write this file`),
      netrc.stderr,
    );
    assert.deepEqual(await pullTokens(), []);
    await assert.rejects(stat(file("config/pip/pip.conf")), /ENOENT/);
    assert.equal((await world.holt.run(["configure", "pip", "--undo", "--yes"])).status, 1, "nothing is left to undo");
  });

  test("undo removes the block of holt alone from a file that somebody changed since, and revokes the token", async () => {
    const { holt } = world;
    await holt.must(["configure", "uv", "my-org", "--yes"]);
    const path = file("config/uv/uv.toml");
    await writeFile(path, `offline = false\n${await readFile(path, "utf8")}# mine\n`);
    await holt.must(["configure", "uv", "--undo", "--yes"]);
    assert.equal(await readFile(path, "utf8"), "offline = false\n# mine\n");
    await assert.rejects(stat(file(".netrc")), /ENOENT/);
    assert.deepEqual(await pullTokens(), []);
  });

  test("undo that leaves lines of holt revokes the token, says where they are, and works once they are removed", async () => {
    const { holt } = world;
    await holt.must(["configure", "pip", "my-org", "--yes"]);
    const path = file("config/pip/pip.conf");
    await writeFile(path, `${await readFile(path, "utf8")}timeout = 60\n`);
    const undo = ["configure", "pip", "--undo", "--yes"];
    const { status, stderr } = await holt.run(undo);
    assert.deepEqual([status, /changed after holt wrote it: \S+pip\.conf\n {2}→ remove/.test(stderr)], [1, true], stderr);
    assert.match(await readFile(path, "utf8"), /timeout = 60/);
    assert.deepEqual(await pullTokens(), []);
    await writeFile(path, "[global]\ntimeout = 60\n");
    await holt.must(undo);
    assert.equal(await readFile(path, "utf8"), "[global]\ntimeout = 60\n");
  });

  test("undo that failed because the server was down can be repeated, also if the token is gone by then", async () => {
    const { holt } = world;
    await holt.must(["configure", "pip", "my-org", "--yes"]);
    const config = file("config/holt/config.json");
    const settings = await readFile(config, "utf8");
    await writeFile(config, settings.replaceAll(world.baseUrl, `http://127.0.0.1:${await freePort()}`));
    const undo = ["configure", "pip", "--undo", "--yes"];
    assert.equal((await holt.run(undo)).status, 9);
    await assert.rejects(stat(file(".netrc")), /ENOENT/);
    await writeFile(config, settings);
    const [token] = await world.holt.json<{ uid: string }[]>(["iam", "pull-tokens", "list"]);
    await holt.must(["iam", "pull-tokens", "delete", token?.uid ?? "", "--yes"]);
    await holt.must(undo);
    assert.equal((await holt.run(undo)).status, 1, "nothing is left to undo");
  });

  test("tools that share a file are undone in any order, and each keeps a login that works", async () => {
    const { holt } = world;
    const mine = "machine other.test login me password secret\n";
    const works = async (name: string) => {
      const block = new RegExp(`# holt ${name}: begin\nmachine 127.0.0.1 login (\\S+) password (\\S+)\n`);
      const [, user = "", password = ""] = block.exec(await readFile(file(".netrc"), "utf8")) ?? assert.fail(`no login of ${name}`);
      const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
      return (await fetch(`${world.baseUrl}/libraries/python/my-org/simple/`, { headers: { authorization } })).status === 200;
    };
    for (const order of [
      ["pip", "uv"],
      ["uv", "pip"],
    ])
      for (const before of [undefined, mine]) {
        if (before !== undefined) await writeFile(file(".netrc"), before);
        for (const tool of ["pip", "uv"]) await holt.must(["configure", tool, "my-org", "--yes"]);
        const [first = "", last = ""] = order;
        await holt.must(["configure", first, "--undo", "--yes"]);
        assert.ok(await works(last));
        await holt.must(["configure", last, "--undo", "--yes"]);
        const left = await readFile(file(".netrc"), "utf8").catch(() => undefined);
        assert.equal(left, before);
        await rm(file(".netrc"), { force: true });
        assert.deepEqual(await pullTokens(), []);
      }
  });

  test("the difference of a Gradle script hides the password and nothing else", async () => {
    const { stderr } = await world.holt.run(["configure", "gradle", "my-org"]);
    const lines = stderr.split("\n").map((line) => line.trim().replace(/ +/g, " "));
    assert.ok(lines.includes('+ password = "********"'), stderr);
  });

  test("Maven and Gradle get a repository and a login, next to the settings that are there", async () => {
    const { holt } = world;
    await mkdir(file(".m2"));
    const mine = "<settings>\n  <servers>\n    <server><id>mine</id></server>\n  </servers>\n</settings>\n";
    await writeFile(file(".m2/settings.xml"), mine);
    for (const tool of ["maven", "gradle"]) await holt.must(["configure", tool, "my-org", "--yes"]);
    const maven = await readFile(file(".m2/settings.xml"), "utf8");
    for (const part of ["<id>mine</id>", "<server><id>holt</id><username>pull-", "/libraries/java/my-org/", "<activeProfile>holt"])
      assert.ok(maven.includes(part), maven);
    assert.match(await readFile(file(".gradle/init.d/holt.gradle"), "utf8"), /password = "holt_pt_\w+"/);
    for (const tool of ["maven", "gradle"]) await holt.must(["configure", tool, "--undo", "--yes"]);
    assert.equal(await readFile(file(".m2/settings.xml"), "utf8"), mine);
  });

  test("the settings of pip and Gradle name a group with a space by a valid URL", async () => {
    await world.group(world.orgUid, "team a");
    for (const tool of ["pip", "gradle"]) await world.holt.must(["configure", tool, "my-org/team a", "--yes"]);
    assert.match(await readFile(file("config/pip/pip.conf"), "utf8"), /^index-url = \S+\/libraries\/python\/my-org\/team%20a\/simple\/$/m);
    const script = await readFile(file(".gradle/init.d/holt.gradle"), "utf8");
    const [, repository = "", user = "", password = ""] = /uri\("(.*?)"\).*username = "(.*?)".*password = "(.*?)"/s.exec(script) ?? [];
    assert.equal(repository, `${world.baseUrl}/libraries/java/my-org:team%20a/`);
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    const answer = await fetch(`${repository}org/example/missing/maven-metadata.xml`, { headers: { authorization } });
    assert.equal(answer.status, 404, "the group is found, and has no such artifact");
    for (const tool of ["pip", "gradle"]) await world.holt.must(["configure", tool, "--undo", "--yes"]);
  });

  test("the secret for Kubernetes is printed with a login that the registry accepts", async () => {
    const before = (await pullTokens()).length;
    const secret = parse(await world.holt.must(["configure", "kubernetes", "my-org"]));
    assert.equal(secret.type, "kubernetes.io/dockerconfigjson");
    const { auths } = JSON.parse(Buffer.from(secret.data[".dockerconfigjson"], "base64").toString());
    const { auth } = auths[new URL(world.baseUrl).host];
    assert.equal((await fetch(`${world.baseUrl}/v2/`, { headers: { authorization: `Basic ${auth}` } })).status, 200);
    assert.equal((await pullTokens()).length, before + 1);
  });
});
