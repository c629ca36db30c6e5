/** Tests the start of holtd: its output, its first tokens and keys, and several servers on one data folder or database. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { freePort } from "../harness/free-port.ts";
import { storeNames } from "../harness/harness.ts";
import {
  createInstallation,
  get,
  printedToken,
  runHoltd,
  startHoltd,
  startProcess,
  temporaryFolder,
  untilReady,
} from "../harness/holtd.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";
import { createDatabase } from "../harness/postgres.ts";

const ORGANIZATIONS = "/iam/v2/groups?uidp.in_root=true";

interface Groups {
  readonly groups: readonly { readonly uid: string; readonly name: string }[];
}

async function organizationsAt(baseUrl: string, token: string): Promise<Groups["groups"]> {
  const { status, json } = await get(baseUrl, ORGANIZATIONS, token);
  assert.equal(status, 200, JSON.stringify(json));
  return (json as Groups).groups;
}

describe("holtd", { concurrency: 2 }, () => {
  for (const store of storeNames)
    test(`token --link prints a link that signs in once, on ${store}`, async () => {
      await using folder = await temporaryFolder();
      const settings = {
        HOLT_DATA_DIR: join(folder.path, "data"),
        HOLT_DATABASE_URL: await createDatabaseOn(store),
        HOLT_LISTEN: `127.0.0.1:${await freePort()}`,
      };
      await using server = await startHoltd(settings);
      const { code, stdout, stderr } = await runHoltd(["token", "--link"], settings);
      assert.equal(code, 0, stderr);
      const [, origin = "", secret = ""] = /^(.+)\/console\/sign-in#link=([\w-]{43})\n$/.exec(stdout) ?? [];
      assert.equal(origin, server.baseUrl, stdout);
      const redeem = () => {
        const body = new URLSearchParams({ grant_type: "link", secret });
        return fetch(`${origin}/oauth/session`, {
          method: "POST",
          headers: { "x-holt-console": "1", "sec-fetch-site": "same-origin" },
          body,
        });
      };
      assert.equal((await redeem()).status, 200);
      assert.equal((await redeem()).status, 400);
    });

  test("a starting server prints its address, its data folder and the first call to make", async () => {
    await using folder = await temporaryFolder();
    await using server = await startHoltd({ HOLT_DATA_DIR: join(folder.path, "data"), HOLT_ORG_NAME: "acme" });
    const text = server.stdout();
    assert.match(text, new RegExp(`^Holt is ready at http://127\\.0\\.0\\.1:${server.port} `));
    assert.ok(text.includes(join(folder.path, "data")));
    assert.ok(text.includes(`${server.baseUrl}/docs`));
    assert.match(text, /export TOKEN=\$\(.*npm run -s token\)/);
    assert.match(text, /curl -H "Authorization: Bearer \$TOKEN"/);
    assert.equal((await fetch(`${server.baseUrl}/docs`)).status, 200);
    assert.equal((await fetch(`${server.baseUrl}/readyz`)).status, 200);
  });

  test("the printed command signs in from another shell with any server settings", async () => {
    await using folder = await temporaryFolder();
    await using server = await startHoltd({ HOLT_DATA_DIR: join(folder.path, "it's a folder"), HOLT_ORG_NAME: "acme" });
    const command = /sign in +(export .*)/.exec(server.stdout())?.[1] ?? "";
    const script = `${command}; printf '%s %s' "$TOKEN" "$API"`;
    const { stdout } = await promisify(execFile)("sh", ["-c", script], {
      cwd: join(import.meta.dirname, "../../../.."),
      env: { PATH: process.env.PATH, HOME: folder.path },
    });
    const [token = "", api = ""] = stdout.split(" ");
    assert.equal(api, server.baseUrl);
    assert.deepEqual(
      (await organizationsAt(api, token)).map(({ name }) => name),
      ["acme"],
    );
  });

  test("only the owner can read the files with data and keys", async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, "deep", "data");
    for (const start of ["first", "second"]) {
      await using _server = await startHoltd({ HOLT_DATA_DIR: data });
      assert.equal((await stat(data)).mode & 0o777, 0o700);
      for (const name of ["holt.db", "secrets.key", "server.lock"])
        assert.equal((await stat(join(data, name))).mode & 0o777, 0o600, `${name} after the ${start} start`);
      // As earlier versions left it.
      await chmod(join(data, "server.lock"), 0o644);
    }
  });

  test("a database whose secrets key is missing or different is refused with instructions", async () => {
    await using folder = await temporaryFolder();
    const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_LOG_LEVEL: "error" };
    await (await startHoltd(settings))[Symbol.asyncDispose]();
    const key = (await readFile(join(folder.path, "secrets.key"), "utf8")).trim();
    const other = Buffer.alloc(32, 7).toString("base64");
    await rm(join(folder.path, "secrets.key"));
    for (const HOLT_SECRETS_KEY of ["", other]) {
      const { code, stderr } = await runHoltd([], { ...settings, HOLT_SECRETS_KEY });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /^holtd: .*secrets of this database cannot be decrypted: .*same key.*server_state.*\n$/);
      assert.ok(!stderr.includes(other));
    }
    await using _server = await startHoltd({ ...settings, HOLT_SECRETS_KEY: key });
  });

  test("holtd prints its help and version, and refuses an unknown command with a message and exit code 2", async () => {
    const help = await runHoltd(["help"], {});
    assert.equal(help.code, 0);
    assert.match(help.stdout, /^Usage: holtd \[command\]/);
    const ofCommand = await runHoltd(["keys", "rotate", "--help"], {});
    assert.equal(
      ofCommand.stdout,
      "Usage: holtd COMMAND\n\n  keys rotate   create a new signing key; the previous one stays published for\n                24 hours\n",
    );
    const version = await runHoltd(["--version"], {});
    assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
    const unknown = await runHoltd(["keys", "burn"], {});
    assert.equal(unknown.code, 2);
    assert.equal(unknown.stderr, 'holtd: there is no command "keys burn"; there is "keys rotate"\nRun "holtd help" for the commands.\n');
  });

  test("every help of holtd fits a terminal of 80 columns", async () => {
    const { stdout: help } = await runHoltd(["help"], {});
    // Commands whose help is not a part of the whole.
    const own = ["audit", "backup", "restore", "export", "verify", "import org"];
    const imports = ["import libraries", "import advisories", "import vulnerabilities"];
    const helps = [help];
    for (const command of [...own, ...imports]) {
      const { code, stdout } = await runHoltd([...command.split(" "), "--help"], {});
      assert.equal(code, 0, command);
      helps.push(stdout);
    }
    const tooLong = helps.flatMap((text) => text.split("\n")).filter((line) => line.length > 80);
    assert.deepEqual(tooLong, []);
  });

  test("the token command prints one valid token while no server runs and while one does", async () => {
    await using folder = await temporaryFolder();
    const shared = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_ORG_NAME: "acme" };
    await createInstallation(shared);
    const before = await runHoltd(["token"], shared);
    assert.equal(before.code, 0, before.stderr);
    assert.match(before.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    await using server = await startHoltd(shared);
    const during = await runHoltd(["token"], shared);
    assert.equal(during.code, 0, during.stderr);
    assert.match(during.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const seen = await organizationsAt(server.baseUrl, before.stdout.trim());
    assert.deepEqual(
      seen.map(({ name }) => name),
      ["acme"],
    );
    assert.deepEqual(await organizationsAt(server.baseUrl, during.stdout.trim()), seen);
  });

  test("a rotation of keys publishes both keys, signs new tokens with the new one and keeps old tokens valid", async () => {
    await using folder = await temporaryFolder();
    await using server = await startHoltd({ HOLT_DATA_DIR: folder.path });
    const shared = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${server.port}` };
    const old = await printedToken(shared);
    const rotation = await runHoltd(["keys", "rotate"], shared);
    assert.equal(rotation.code, 0, rotation.stderr);
    const fresh = await printedToken(shared);
    const [oldKid, freshKid] = [kidOf(old), kidOf(fresh)];
    assert.notEqual(freshKid, oldKid);
    assert.equal(rotation.stdout, `New signing key ${freshKid}; ${oldKid} stays published for 24 hours.\n`);
    assert.equal((await organizationsAt(server.baseUrl, fresh)).length, 1);
    assert.equal((await organizationsAt(server.baseUrl, old)).length, 1);
    const { keys } = (await (await fetch(`${server.baseUrl}/.well-known/jwks.json`)).json()) as { keys: Record<string, string>[] };
    assert.deepEqual(keys.map(({ kid }) => kid).sort(), [oldKid, freshKid].sort());
    // n and e are the public half of an RSA key; d, p and q are not.
    for (const key of keys) assert.deepEqual(Object.keys(key).sort(), ["alg", "e", "kid", "kty", "n", "use"]);
  });

  test("two servers that start together on an empty PostgreSQL create and serve one organization", async () => {
    const HOLT_DATABASE_URL = await createDatabase();
    const ports = [await freePort(), await freePort()];
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await temporaryFolder());
    const shared = { HOLT_DATABASE_URL, HOLT_DATA_DIR: folder.path, HOLT_BASE_URL: `http://127.0.0.1:${ports[0]}` };
    const starts = ports.map((port) => startHoltd({ ...shared, HOLT_LISTEN: `127.0.0.1:${port}` }));
    for (const server of await Promise.all(starts)) stack.use(server);
    const token = await printedToken(shared);
    const [one, other] = await Promise.all(ports.map((port) => organizationsAt(`http://127.0.0.1:${port}`, token)));
    assert.equal(one?.length, 1);
    assert.deepEqual(other, one);
    const made = await fetch(`http://127.0.0.1:${ports[0]}/iam/v2/groups/${one?.[0]?.uid}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "folder" }),
    });
    assert.equal(made.status, 200);
    const { uid } = (await made.json()) as { uid: string };
    assert.equal((await get(`http://127.0.0.1:${ports[1]}`, `/iam/v2/groups/${uid}`, token)).status, 200);
  });

  test("the second of two servers on one data folder reports the first and exits", async () => {
    await using folder = await temporaryFolder();
    for (let round = 0; round < 3; round++) {
      const data = join(folder.path, `data-${round}`);
      const ports = [await freePort(), await freePort()];
      const settingsOf = (port: number) => ({ HOLT_DATA_DIR: data, HOLT_LISTEN: `127.0.0.1:${port}` });
      await using stack = new AsyncDisposableStack();
      const both = ports.map((port) => stack.use(startProcess([], settingsOf(port))));
      const outcomes = await Promise.all(both.map((server) => Promise.race([untilReady(server).then(() => "ready"), server.ended])));
      const refused = outcomes.filter((outcome) => typeof outcome === "object");
      assert.equal(refused.length, 1, JSON.stringify(outcomes));
      assert.equal(refused[0]?.code, 1);
      assert.match(refused[0]?.stderr ?? "", new RegExp(`another holtd serves the data in ${data}`));
      const port = ports[outcomes.indexOf("ready")] ?? 0;
      assert.equal((await organizationsAt(`http://127.0.0.1:${port}`, await printedToken(settingsOf(port)))).length, 1);
      using database = new DatabaseSync(join(data, "holt.db"), { readOnly: true });
      assert.deepEqual({ ...database.prepare("pragma integrity_check").get() }, { integrity_check: "ok" });
    }
  });

  test("a server gives back the memory of its start after it is ready and before it answers a request", async () => {
    await using folder = await temporaryFolder();
    const reportCollection = `import{writeSync}from"node:fs";globalThis.gc=()=>writeSync(1,"collected")`;
    const options = `--import=data:text/javascript,${encodeURIComponent(reportCollection)}`;
    await using server = await startHoltd({ HOLT_DATA_DIR: folder.path, NODE_OPTIONS: options });
    await fetch(`${server.baseUrl}/livez`);
    assert.match(server.stdout(), /Holt is ready.*collected$/s);
  });

  test("a data folder can be used again as soon as its server is killed", async () => {
    await using folder = await temporaryFolder();
    for (let round = 0; round < 2; round++) {
      const server = await startHoltd({ HOLT_DATA_DIR: folder.path });
      server.kill("SIGKILL");
      await server.ended;
    }
  });
});

function kidOf(token: string): string {
  return (JSON.parse(Buffer.from(token.split(".", 1)[0] ?? "", "base64url").toString("utf8")) as { kid: string }).kid;
}
