/** Signing in, contexts and credentials. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startHoltd, temporaryFolder } from "../../server/test/harness/holtd.ts";
import { type CommandLine, type CommandLineWorld, createCommandLine, startCommandLineWorld } from "./harness.ts";

interface ListedContext {
  readonly name: string;
  readonly current: boolean;
  readonly signedIn: boolean;
}

describe("contexts", () => {
  const world = {} as CommandLineWorld;
  before(async () => void Object.assign(world, await startCommandLineWorld({ env: { HOLT_AUDIENCES: "builds" } })));
  after(() => world[Symbol.asyncDispose]());

  const contexts = () => world.holt.json<ListedContext[]>(["context", "list"]);

  test("a login keeps the token in a file that only the user can read, and token prints it and nothing else", async () => {
    assert.equal(await world.holt.must(["token"]), `${world.token}\n`);
    assert.equal(await world.holt.must(["token", "--issuer", world.baseUrl]), `${world.token}\n`);
    const file = join(world.holt.folder, "config/holt/credentials.json");
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(join(file, ".."))).mode & 0o777, 0o700);
    assert.deepEqual(await contexts(), [{ name: "test", current: true, url: world.baseUrl, group: "", signedIn: true }]);
  });

  test("a token for another audience is exchanged, and an audience that the server does not list is refused", async () => {
    const [, claims = ""] = (await world.holt.must(["token", "--audience", "builds"])).split(".");
    assert.equal(JSON.parse(Buffer.from(claims, "base64url").toString()).aud, "builds");
    assert.notEqual((await world.holt.run(["token", "--audience", "elsewhere"])).status, 0);
  });

  test("whoami names the account and its rights", async () => {
    const { uid, rights } = await world.holt.json<{ uid: string; rights: string[] }>(["whoami"]);
    assert.equal(uid, world.owner.uid);
    assert.deepEqual(rights, ["owner in my-org"]);
  });

  test("verbose output names each request and never a token", async () => {
    const { stderr } = await world.holt.run(["whoami", "--verbose"]);
    assert.doesNotMatch(stderr, new RegExp(world.token.slice(-20)));
    const listed = await world.holt.run(["iam", "groups", "list", "-v"]);
    assert.match(listed.stderr, /^GET \/iam\/v2\/groups\?page_size=100 200 in \d+ ms \(request [0-9a-f-]{36}\)$/m);
    assert.doesNotMatch(listed.stderr, new RegExp(world.token.slice(-20)));
  });

  test("a machine signs in with a key that only its user can read, and that no second workload overwrites", async () => {
    const key = join(world.holt.folder, "machine.key");
    const create = ["workload", "create", "my-org", "--name", "machine", "--key", key, "-o", "name"];
    const uid = (await world.holt.must(create)).trim();
    assert.equal((await stat(key)).mode & 0o777, 0o600);
    assert.equal((await world.holt.run(create)).status, 2);
    await using machine = await createCommandLine();
    world.clock.catchUp();
    await machine.must(["login", world.baseUrl, "--from", `key:${key}`]);
    assert.equal(await machine.must(["whoami", "-o", "name"]), `${uid}\n`);
    const proof = (await machine.must(["workload", "proof", "--key", key, "--ttl", "90d"])).trim();
    const { exp, iat } = JSON.parse(Buffer.from(proof.split(".")[1] ?? "", "base64url").toString());
    assert.equal(exp - iat, 90 * 86_400);
    await writeFile(key, '{"secret-content": 1');
    const broken = await machine.run(["workload", "proof", "--key", key]);
    assert.deepEqual([broken.status, broken.stderr.includes("secret-content")], [2, false]);
  });

  test("a workload is created with its key file, or neither of them is", async () => {
    const key = join(world.holt.folder, "missing", "lost.key");
    const create = ["workload", "create", "my-org", "--name", "lost", "--key"];
    const unwritable = await world.holt.run([...create, key]);
    assert.deepEqual([unwritable.status, unwritable.stderr], [2, `holt: cannot use ${key}: no such file or folder\n`]);
    assert.equal(await world.holt.must(["iam", "identities", "list", "--name", "lost", "-o", "name"]), "");
    const refused = join(world.holt.folder, "refused.key");
    const robot = await world.robot(world.orgUid, []);
    const env = { HOLT_URL: world.baseUrl, HOLT_TOKEN: robot.token };
    assert.equal((await world.holt.run(["workload", "create", world.orgUid, "--name", "lost", "--key", refused], { env })).status, 4);
    assert.ok(!existsSync(refused));
  });

  test("a command uses the context that it names, and logout forgets only that credential", async () => {
    const { uid } = await world.robot(world.orgUid, []);
    const proof = await world.robotProof();
    await world.holt.must(["login", world.baseUrl, "--token-stdin", "--identity", uid, "--name", "robot"], { input: proof });
    assert.deepEqual(
      (await contexts()).map(({ name, current }) => [name, current]),
      [
        ["test", false],
        ["robot", true],
      ],
    );
    assert.equal((await world.holt.json<{ uid: string }>(["whoami"])).uid, uid);
    assert.equal((await world.holt.json<{ uid: string }>(["--context", "test", "whoami"])).uid, world.owner.uid);
    await world.holt.must(["logout"]);
    const { status, stderr } = await world.holt.run(["whoami"]);
    assert.equal(status, 3);
    assert.match(stderr, /^holt: you are not signed in at .*\n {2}→ sign in with: holt login http.*\n$/);
    await world.holt.must(["context", "use", "test", "--group", "my-org"]);
    await world.holt.must(["context", "delete", "robot", "--yes"]);
    assert.deepEqual(
      (await contexts()).map(({ name }) => name),
      ["test"],
    );
  });

  test("a login under the name of a context keeps its group, unless that was about another server", async () => {
    await using holt = await createCommandLine();
    const login = ["login", world.baseUrl, "--name", "here", "--token-stdin"];
    const group = async () => (await holt.json<{ group: string }[]>(["context", "list"])).map((context) => context.group);
    await holt.must([...login, "--group", "my-org"], { input: world.token });
    await holt.must(login, { input: world.token });
    assert.deepEqual(await group(), ["my-org"]);
    const file = join(holt.folder, "config/holt/config.json");
    const elsewhere = { url: "https://holt.example.com", group: "their-org", caFile: "/no/such/file.pem" };
    await writeFile(file, JSON.stringify({ current: "here", contexts: { here: elsewhere } }));
    await holt.must(login, { input: world.token });
    assert.deepEqual(await group(), [""]);
  });

  test("a workload renews its token with the tokens of its platform", async () => {
    const { uid } = await world.robot(world.orgUid, []);
    const path = join(world.holt.folder, "projected-token");
    await writeFile(path, await world.robotProof());
    await world.holt.must(["login", world.baseUrl, "--from", `file:${path}`, "--identity", uid, "--name", "workload"]);
    const file = join(world.holt.folder, "config/holt/credentials.json");
    const expired = (await readFile(file, "utf8")).replace(/("kind": "workload"[\s\S]*?"token": )"[^"]+"/, '$1"spent"');
    await writeFile(file, expired.replace(/("spent",\s*"expiry": )"[^"]+"/, '$1"2020-01-01T00:00:00Z"'));
    const printed = await world.holt.must(["token", "--context", "workload"]);
    assert.match(printed, /^eyJ/);
    assert.match(await readFile(file, "utf8"), new RegExp(printed.trim()));
    await world.holt.must(["context", "use", "test"]);
  });

  test("a job signs in with the token that its platform has put into a variable", async () => {
    const { uid } = await world.robot(world.orgUid, []);
    const login = ["login", world.baseUrl, "--from", "env:JOB_TOKEN", "--identity", uid, "--name", "job"];
    await world.holt.must(login, { env: { JOB_TOKEN: await world.robotProof() } });
    assert.equal(await world.holt.must(["whoami", "-o", "name"]), `${uid}\n`);
    const { status, stderr } = await world.holt.run(login);
    assert.notEqual(status, 0);
    assert.match(stderr, /JOB_TOKEN/);
    await world.holt.must(["context", "use", "test"]);
    await world.holt.must(["context", "delete", "job", "--yes"]);
  });

  test("variables name a server and a token for one command, without a login", async () => {
    const env = { HOLT_URL: world.baseUrl, HOLT_TOKEN: world.token, HOLT_CONFIG_DIR: join(world.holt.folder, "empty") };
    assert.match(await world.holt.must(["iam", "groups", "list", "-o", "name"], { env }), new RegExp(`^${world.orgUid}$`, "m"));
  });

  test("a service without a home folder uses its variables, and a login there says where settings can be", async () => {
    const file = join(world.holt.folder, "no-folder");
    await writeFile(file, "");
    const folder = join(file, "holt");
    const env = { HOLT_URL: world.baseUrl, HOLT_TOKEN: world.token, HOLT_CONFIG_DIR: folder };
    assert.match(await world.holt.must(["iam", "groups", "list", "-o", "name"], { env }), new RegExp(`^${world.orgUid}$`, "m"));
    const { uid } = await world.robot(world.orgUid, []);
    const login = ["login", world.baseUrl, "--from", "env:JOB_TOKEN", "--identity", uid];
    const refused = await world.holt.run(login, { env: { JOB_TOKEN: await world.robotProof(), HOLT_CONFIG_DIR: folder } });
    assert.equal(refused.status, 1);
    assert.equal(
      refused.stderr,
      `holt: the settings cannot be written to ${folder} (ENOTDIR)\n  → set HOLT_CONFIG_DIR to a folder that you may write to\n`,
    );
  });

  test("a login ends with an error where the file system has no place for settings", { skip: process.platform !== "linux" }, async () => {
    const env = { HOME: "/proc", XDG_CONFIG_HOME: "", JOB_TOKEN: await world.robotProof() };
    const { uid } = await world.robot(world.orgUid, []);
    const { status, stderr } = await world.holt.run(["login", world.baseUrl, "--from", "env:JOB_TOKEN", "--identity", uid], { env });
    assert.equal(status, 1);
    assert.equal(
      stderr,
      "holt: the settings cannot be written to /proc/.config/holt (ENOENT)\n  → set HOLT_CONFIG_DIR to a folder that you may write to\n",
    );
  });

  test("a token of the environment without its server is refused, so that no other account is used instead", async () => {
    const { status, stdout, stderr } = await world.holt.run(["whoami"], { env: { HOLT_TOKEN: world.token } });
    assert.deepEqual([status, stdout], [2, ""]);
    assert.match(stderr, /HOLT_TOKEN is set without HOLT_URL/);
  });

  test("the token of the environment goes to the server of HOLT_URL alone", async () => {
    const tokens: unknown[] = [];
    const other = createServer((request, response) => {
      tokens.push(request.headers.authorization);
      response.end("{}");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const env = { HOLT_URL: world.baseUrl, HOLT_TOKEN: "for-the-first-server" };
    await world.holt.must(["login", url, "--token-stdin", "--name", "other", "--identity", "x"], { input: "proof" }).catch(() => {});
    const got = await world.holt.run(["credential-helper", "get"], { env, input: new URL(url).host });
    await world.holt.run(["iam", "groups", "list", "--context", "other"], { env });
    other.close();
    assert.ok(!JSON.stringify([tokens, got.stdout]).includes("for-the-first-server"), JSON.stringify(tokens));
    await world.holt.must(["context", "use", "test"]);
    const known = await world.holt.must(["credential-helper", "get"], { env, input: new URL(world.baseUrl).host });
    assert.equal(JSON.parse(known).Secret, "for-the-first-server");
  });

  test("a lock of a process that was killed stops nobody", async () => {
    const { pid } = spawnSync(process.execPath, ["-e", "0"]);
    for (const name of ["config", "credentials"]) await writeFile(join(world.holt.folder, `config/holt/.${name}.lock`), String(pid));
    await world.holt.must(["login", world.baseUrl, "--token-stdin", "--name", "after-a-crash"], { input: world.token });
  });

  test("parallel commands do not lose each other's changes of the settings", async () => {
    const names = ["one", "two", "three", "four"];
    const input = world.token;
    await Promise.all(names.map((name) => world.holt.must(["login", world.baseUrl, "--token-stdin", "--name", name], { input })));
    const found = await contexts();
    assert.deepEqual(
      names.filter((name) => !found.some((context) => context.name === name && context.signedIn)),
      [],
    );
  });
});

test("the bootstrap owner signs in on the server's own machine", async () => {
  await using folder = await temporaryFolder();
  await using server = await startHoltd({ HOLT_DATA_DIR: folder.path });
  await using holt: CommandLine = await createCommandLine();
  await holt.must(["login", server.baseUrl, "--bootstrap", "--data-dir", folder.path]);
  assert.match(await holt.must(["iam", "groups", "list"]), /my-org/);
  const refused = await holt.run(["login", server.baseUrl, "--bootstrap", "--data-dir", join(folder.path, "missing")]);
  assert.notEqual(refused.status, 0);
  assert.match(refused.stderr, /^holt: cannot sign in as the bootstrap owner: .*\n {2}→ .*--data-dir/);
});
