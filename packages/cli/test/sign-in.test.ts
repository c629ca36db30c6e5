/** Signing in as a person: with a browser, on a device, and on a machine without a screen. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { freePort } from "../../server/test/harness/free-port.ts";
import { type SignInWorld, startSignInWorld } from "../../server/test/harness/sign-in/sign-in-world.ts";
import { until, within } from "../../server/test/harness/wait.ts";
import { type CommandLine, createCommandLine, type Running } from "./harness.ts";

describe("a person signs in", () => {
  const world = {} as SignInWorld;
  let holt: CommandLine;
  before(async () => void Object.assign(world, await startSignInWorld()));
  after(() => world[Symbol.asyncDispose]());
  beforeEach(async () => {
    holt = await createCommandLine();
  });
  afterEach(() => holt[Symbol.asyncDispose]());

  async function matchOf(login: Running, pattern: RegExp): Promise<string> {
    await until(() => pattern.test(login.stderr()));
    return pattern.exec(login.stderr())?.[1] ?? "";
  }

  async function assertSignedIn(login: Running): Promise<void> {
    const { status, stderr, stdout } = await within(login.ended, login.stderr);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^Signed in at /);
    assert.match(await holt.must(["iam", "groups", "list"]), /acme\.test/);
  }

  const credentials = () => readFile(join(holt.folder, "config/holt/credentials.json"), "utf8");

  test("a person signs in with a browser at a loopback address that nobody can guess", async () => {
    const login = holt.start(["login", world.baseUrl, "--no-open", "--org", "acme.test"]);
    const url = await matchOf(login, /(http\S+\/oauth\?\S+)/);
    const { url: callback } = await world.visitor().walk(url, "alice");
    const guess = new URL(callback);
    guess.pathname = "/callback";
    assert.equal((await fetch(guess)).status, 404);
    const page = await fetch(callback);
    assert.match(await page.text(), /You are signed in/);
    assert.equal(page.headers.get("referrer-policy"), "no-referrer");
    await assertSignedIn(login);
    assert.match(await credentials(), /"kind": "refresh"/);
  });

  test("a session is renewed by a refresh token that works once, also in parallel commands", async () => {
    const login = holt.start(["login", world.baseUrl, "--no-open", "--org", "acme.test"]);
    const { url: callback } = await world.visitor().walk(await matchOf(login, /(http\S+\/oauth\?\S+)/), "alice");
    await fetch(callback);
    await assertSignedIn(login);
    const file = join(holt.folder, "config/holt/credentials.json");
    const before = await credentials();
    await writeFile(file, before.replace(/"expiry": "[^"]+"/, '"expiry": "2020-01-01T00:00:00Z"'));
    const tokens = await Promise.all([1, 2, 3].map(() => holt.must(["token"])));
    assert.equal(new Set(tokens).size, 1, "one command renewed the token for all");
    assert.doesNotMatch(before, new RegExp(tokens[0]?.trim() ?? ""));
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  test("Ctrl-C during a renewal keeps the session", async () => {
    const login = holt.start(["login", world.baseUrl, "--no-open", "--org", "acme.test"]);
    const { url: callback } = await world.visitor().walk(await matchOf(login, /(http\S+\/oauth\?\S+)/), "alice");
    await fetch(callback);
    await assertSignedIn(login);
    const file = join(holt.folder, "config/holt/credentials.json");
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      await writeFile(file, (await credentials()).replace(/"expiry": "[^"]+"/, '"expiry": "2020-01-01T00:00:00Z"'));
      const renewal = holt.start(["token"]);
      await until(() => existsSync(join(holt.folder, "config/holt/.credentials.lock")) || renewal.stdout() !== "");
      renewal.kill(signal);
      await within(renewal.ended, renewal.stderr);
    }
    assert.match(await holt.must(["token"]), /^eyJ/);
  });

  async function signIn(): Promise<string> {
    const login = holt.start(["login", world.baseUrl, "--no-open", "--org", "acme.test"]);
    const { url: callback } = await world.visitor().walk(await matchOf(login, /(http\S+\/oauth\?\S+)/), "alice");
    await fetch(callback);
    await assertSignedIn(login);
    return /"refreshToken": "([^"]+)"/.exec(await credentials())?.[1] ?? "";
  }

  const statusOf = async (method: string, path: string, token: string) =>
    (await fetch(`${world.baseUrl}${path}`, { method, headers: { authorization: `Bearer ${token}` } })).status;

  test("logout ends the session on the server, and no other one", async () => {
    await signIn();
    const other = (await holt.must(["token"])).trim();
    const refreshToken = await signIn();
    const token = (await holt.must(["token"])).trim();
    assert.equal((await holt.run(["logout"])).stderr, "");
    assert.equal(await statusOf("GET", "/iam/v2/groups", token), 401);
    assert.equal(await statusOf("POST", "/sts/exchange_refresh_token", refreshToken), 401);
    assert.equal(await statusOf("GET", "/iam/v2/groups", other), 200);
    assert.doesNotMatch(await credentials(), /refreshToken/);
  });

  test("deleting a context ends its session on the server, and no other one", async () => {
    await signIn();
    const other = (await holt.must(["token"])).trim();
    const refreshToken = await signIn();
    const token = (await holt.must(["token"])).trim();
    const { current } = JSON.parse(await readFile(join(holt.folder, "config/holt/config.json"), "utf8")) as { current: string };
    assert.doesNotMatch((await holt.run(["context", "delete", current, "--yes"])).stderr, /Warning/);
    assert.equal(await statusOf("GET", "/iam/v2/groups", token), 401);
    assert.equal(await statusOf("POST", "/sts/exchange_refresh_token", refreshToken), 401);
    assert.equal(await statusOf("GET", "/iam/v2/groups", other), 200);
    assert.doesNotMatch(await credentials(), /refreshToken/);
    await signIn();
  });

  test("logout forgets a credential whose session has ended or whose server is down, and warns", async () => {
    await signIn();
    const file = join(holt.folder, "config/holt/credentials.json");
    const kept = await credentials();
    await holt.must(["logout"]);
    await writeFile(file, kept);
    const ended = await holt.run(["logout"]);
    assert.deepEqual(
      [ended.status, /^Warning: the session was not ended on the server: .+\n$/.test(ended.stderr)],
      [0, true],
      ended.stderr,
    );
    assert.doesNotMatch(await credentials(), /refreshToken/);
    await writeFile(file, kept);
    const config = join(holt.folder, "config/holt/config.json");
    await writeFile(config, (await readFile(config, "utf8")).replace(world.baseUrl, `http://127.0.0.1:${await freePort()}`));
    const down = await holt.run(["logout"]);
    assert.deepEqual([down.status, /^Warning: .*cannot reach/.test(down.stderr)], [0, true], down.stderr);
    assert.doesNotMatch(await credentials(), /refreshToken/);
  });

  test("a refusal of the provider is shown to the person", async () => {
    const login = holt.start(["login", world.baseUrl, "--no-open", "--org", "acme.test"]);
    const { url: callback } = await world.visitor().walk(await matchOf(login, /(http\S+\/oauth\?\S+)/), undefined);
    assert.equal((await fetch(callback)).status, 400);
    const { status, stderr } = await within(login.ended, login.stderr);
    assert.equal(status, 3);
    assert.match(stderr, /holt: .+\n {2}→ try again: holt login\n$/);
  });

  test("a person without a browser gets an encrypted result", async () => {
    const login = holt.start(["login", world.baseUrl, "--headless", "--org", "acme.test"]);
    const url = await matchOf(login, /(http\S+\/oauth\?\S+)/);
    const visitor = world.visitor();
    await visitor.submit(await visitor.walk(url, "alice"), { answer: "yes" });
    await assertSignedIn(login);
  });

  test("a person signs in with a code on another device", async () => {
    const login = holt.start(["login", world.baseUrl, "--device"]);
    const url = await matchOf(login, /Or open (\S+)/);
    const visitor = world.visitor();
    const choice = await visitor.visit(url);
    const page = await visitor.walk(`${url}&idp_id=acme.test`, "alice");
    assert.equal(choice.status, 200);
    await visitor.submit(page, { answer: "yes" });
    await assertSignedIn(login);
  });

  test("Ctrl-C ends the wait for a sign-in and leaves nothing behind", async () => {
    const login = holt.start(["login", world.baseUrl, "--no-open"]);
    await matchOf(login, /(http\S+\/oauth\?\S+)/);
    login.kill("SIGINT");
    const { status } = await within(login.ended, login.stderr);
    assert.equal(status, 130);
    await assert.rejects(credentials(), /ENOENT/);
  });
});
