/** Credentials in the system's keyring, with a real Secret Service where one is installed. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { promisify } from "node:util";
import { type CommandLine, type CommandLineWorld, createCommandLine, PROGRAM, startCommandLineWorld } from "./harness.ts";

const run = promisify(execFile);
const missing = ["gnome-keyring-daemon", "dbus-run-session", "secret-tool"].find((name) => spawnSync(name, ["--version"]).error);
const needsService = { skip: missing === undefined ? false : `${missing} is not installed` };
/** A person who has a session at a desktop. */
const START_KEYRING = "printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1";

/** Makes the access token of the only credential an expired one. */
const SPEND = `
  import { readFileSync } from "node:fs";
  import { readKeyring, writeKeyring } from "${new URL("../src/contexts/keyring.ts", import.meta.url)}";
  const { account } = JSON.parse(readFileSync("config/holt/credentials.json", "utf8")).contexts.test;
  const credential = JSON.parse(await readKeyring(account));
  await writeKeyring(account, JSON.stringify({ ...credential, access: { token: "spent", expiry: "2020-01-01T00:00:00Z" } }));
`;

describe("the keyring", () => {
  const world = {} as CommandLineWorld;
  let holt: CommandLine;
  before(async () => void Object.assign(world, await startCommandLineWorld()));
  after(() => world[Symbol.asyncDispose]());
  beforeEach(async () => {
    holt = await createCommandLine();
  });
  afterEach(() => holt[Symbol.asyncDispose]());

  const file = () => readFile(join(holt.folder, "config/holt/credentials.json"), "utf8");
  const login = () => ["login", world.baseUrl, "--token-stdin", "--name", "test"];
  const automatic = { HOLT_CREDENTIAL_STORE: "" };

  /** Runs the lines of a script in a session bus of its own, with a keyring. $HOLT is the program. @returns standard output */
  async function inSession(...lines: readonly string[]): Promise<string> {
    const runtime = join(holt.folder, "runtime");
    await mkdir(runtime, { recursive: true, mode: 0o700 });
    await writeFile(join(holt.folder, "token"), world.token);
    const HOLT = `${process.execPath} ${PROGRAM}`;
    const env = holt.environment({ ...automatic, XDG_RUNTIME_DIR: runtime, HOLT, SIGN_IN: `${HOLT} ${login().join(" ")}` });
    const script = ["set -e", START_KEYRING, ...lines].join("\n");
    return (await run("dbus-run-session", ["--", "sh", "-c", script], { env, cwd: holt.folder })).stdout;
  }

  test("a credential goes to the keyring, and the file names only its place", needsService, async () => {
    const shown = await inSession("$SIGN_IN < token", "$HOLT token", "$HOLT context list -o json", "secret-tool search --all service holt");
    assert.ok(shown.includes(`\n${world.token}\n`), shown);
    assert.match(shown, /"signedIn": true/);
    assert.match(shown, /^label = keyring:test [0-9a-f-]{36}@holt$/m);
    assert.match(await file(), /"kind": "keyring"/);
    assert.ok(!(await file()).includes(world.token));
  });

  test("logout deletes the entry of the keyring", needsService, async () => {
    const shown = await inSession("$SIGN_IN < token", "$HOLT logout", "secret-tool search --all service holt");
    assert.doesNotMatch(shown, /secret = /);
    assert.doesNotMatch(await file(), /keyring/);
  });

  test("a second login keeps one entry, and --store file moves it out of the keyring", needsService, async () => {
    const search = "secret-tool search --all service holt 2>&1 | grep -c '^secret = ' || true";
    const shown = await inSession("$SIGN_IN < token", "$SIGN_IN < token", search, "$SIGN_IN --store file < token", search, "$HOLT token");
    assert.deepEqual(shown.match(/^\d+$/gm), ["1", "0"]);
    assert.ok(shown.endsWith(`\n${world.token}\n`), shown);
    assert.ok((await file()).includes(world.token));
  });

  test("a renewed token stays in the keyring", needsService, async () => {
    const { uid } = await world.robot(world.orgUid, []);
    await writeFile(join(holt.folder, "proof"), await world.robotProof());
    const signIn = `$HOLT login ${world.baseUrl} --from file:proof --identity ${uid} --name test`;
    await writeFile(join(holt.folder, "spend.ts"), SPEND);
    const search = "secret-tool search --all service holt";
    const shown = await inSession(signIn, `${process.execPath} spend.ts`, search, "$HOLT token", search);
    const [before = "", printed = "", later = ""] = shown.split(/^(eyJ\S+)$/m);
    assert.match(before, /"token":"spent"/);
    assert.ok(later.includes(`"token":"${printed}"`), shown);
    assert.ok(!(await file()).includes(printed));
  });

  test("without a keyring the credential goes to the file, unless the command wants a keyring", async () => {
    const env = { ...automatic, DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(holt.folder, "no-bus")}` };
    if (process.platform === "linux") {
      await holt.must(login(), { env, input: world.token });
      assert.ok((await file()).includes(world.token));
      await rm(join(holt.folder, "config"), { recursive: true });
      const refused = await holt.run([...login(), "--store", "keyring"], { env, input: world.token });
      assert.match(refused.stderr, /^holt: cannot write the system's keyring: .+\n {2}→ .*--store file/);
      assert.equal(refused.status, 1);
    }
    await holt.must([...login(), "--store", "file"], { env, input: world.token });
    assert.equal(await holt.must(["token"], { env }), `${world.token}\n`);
  });

  test("a credential whose keyring is gone is an error with advice, and the next login works", async () => {
    const env = { DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(holt.folder, "no-bus")}` };
    await mkdir(join(holt.folder, "config/holt"), { recursive: true });
    const config = { current: "test", contexts: { test: { url: world.baseUrl } } };
    await writeFile(join(holt.folder, "config/holt/config.json"), JSON.stringify(config));
    const contexts = { test: { kind: "keyring", account: "test of a test" } };
    await writeFile(join(holt.folder, "config/holt/credentials.json"), JSON.stringify({ contexts }));
    const { status, stderr } = await holt.run(["whoami"], { env });
    assert.notEqual(status, 0);
    assert.match(stderr, /^holt: (cannot read the system's keyring: .+|you are not signed in at .+)\n {2}→ /);
    await holt.must(login(), { env, input: world.token });
    assert.match(await holt.must(["whoami", "-o", "name"], { env }), new RegExp(world.owner.uid));
  });

  test("an unknown store is refused before anybody signs in", async () => {
    const { status, stderr } = await holt.run(login(), { env: { HOLT_CREDENTIAL_STORE: "cloud" }, input: world.token });
    assert.deepEqual([status, /HOLT_CREDENTIAL_STORE: "cloud" must be keyring or file/.test(stderr)], [2, true], stderr);
    assert.equal((await holt.run([...login(), "--store", "cloud"], { input: world.token })).status, 2);
  });
});
