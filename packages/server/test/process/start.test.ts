/** Tests what an operator sees of holtd: its start, and its messages about what it refuses. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { settings } from "../../src/config.ts";
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
        HOLT_DATABASE_URL: store === "postgres" ? await createDatabase() : "",
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
      "Usage: holtd COMMAND\n\n  keys rotate   create a new signing key; the previous one stays published for 24 hours\n",
    );
    const version = await runHoltd(["--version"], {});
    assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
    const unknown = await runHoltd(["keys", "burn"], {});
    assert.equal(unknown.code, 2);
    assert.equal(unknown.stderr, 'holtd: there is no command "keys burn"; there is "keys rotate"\nRun "holtd help" for the commands.\n');
  });

  test("a wrong command line ends with exit code 2 and says what is wrong", async () => {
    await using folder = await temporaryFolder();
    const settings = { HOLT_DATA_DIR: folder.path };
    for (const [args, message] of [
      [["docter"], /^holtd: there is no command "docter"; did you mean "doctor"\?\n.*holtd help.*\n$/],
      [["import"], /^holtd: there is no command "import"; there is .*"import libraries"/],
      [["gc", "--dry"], /^holtd: Unknown option '--dry'\n.*holtd help.*\n$/],
      [["keys", "rotate", "--dry-run"], /^holtd: --dry-run is an option of "gc", not of "keys rotate"\n$/],
      [["recover"], /^holtd: name the organization, .*holtd recover ORG\n$/],
      [["audit"], /^holtd: give "verify" or "export"\n\nUsage: holtd audit/],
      [["audit", "verify", "--fil", "x"], /^holtd: Unknown option '--fil'\n\nUsage/],
    ] as const) {
      const { code, stderr } = await runHoltd(args, settings);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
  });

  test("a setting for the audit log that matches no operation is refused at start", async () => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await runHoltd([], {
      HOLT_DATA_DIR: folder.path,
      HOLT_AUDIT_READS: "platform.iam.*,iam.Groups",
      HOLT_LOG_LEVEL: "error",
    });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^holtd: HOLT_AUDIT_READS: "iam\.Groups" matches no operation/);
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

  test("every command reports all invalid settings at once and exits with code 2", async () => {
    const bad: Record<string, string> = {
      HOLT_LISTEN: "8080",
      HOLT_DATA_DIR: " ",
      HOLT_DATABASE_URL: "mysql://localhost/holt",
      HOLT_DATABASE_POOL_SIZE: "0",
      HOLT_BASE_URL: "https://holt.example.com/api",
      HOLT_REGISTRY_URL: "registry.example.com",
      HOLT_GC_GRACE: "soon",
      HOLT_GC_INTERVAL: "often",
      HOLT_ORG_NAME: "Acme",
      HOLT_VENDOR_PROFILE: "nobody",
      HOLT_TLS_CERT: "/tmp/cert.pem",
      HOLT_TLS_KEY: "",
      HOLT_LOG_LEVEL: "loud",
      HOLT_MAX_CONCURRENT_CALLS: "-1",
      HOLT_USER_ISSUERS: "accounts",
      HOLT_LOGIN_ISSUER: "accounts",
      HOLT_REQUIRED_TERMS: "Terms",
      HOLT_SECRETS_KEY: "short",
      HOLT_PINNED_ISSUERS: "https://issuer.example.com",
      HOLT_SERVICE_PRINCIPALS: "INGESTER",
      HOLT_OUTBOUND_ALLOW_CIDRS: "10.0.0.0/33",
      HOLT_AWS_STS_URL: "sts",
      HOLT_WEBHOOK_BACKOFF: "5s,later",
      HOLT_WEBHOOK_TIMEOUT: "a moment",
      HOLT_WEBHOOK_GIVE_UP: "never",
      HOLT_EVENT_RETENTION: "for ever",
      HOLT_IMAGE_PACKAGES: "sometimes",
      HOLT_CONSOLE: "perhaps",
      HOLT_BLOBS: "nowhere",
      HOLT_BLOBS_FALLBACK: "nowhere",
      HOLT_BLOBS_REDIRECT: "perhaps",
      HOLT_S3_ENDPOINT: "s3.example.com",
      HOLT_S3_PATH_STYLE: "perhaps",
      HOLT_S3_REGION: "EU",
      HOLT_METRICS_LISTEN: "9090",
      OTEL_EXPORTER_OTLP_ENDPOINT: "collector",
      HOLT_MIN_FREE_DISK: "much",
      HOLT_SIGNING_KEY_ROTATION: "often",
      HOLT_MAX_MAILS_PER_HOUR: "many",
      HOLT_WAL_ARCHIVE: "ftp://x",
      HOLT_WAL_ARCHIVE_RETENTION: "long",
      HOLT_LOCAL_ACCOUNTS: "some",
      HOLT_PUBLIC_CONTENT: "some",
      HOLT_SMTP_URL: "mail.example.com",
      HOLT_SMTP_FROM: "Holt",
      HOLT_PUBLIC_ADVISORIES: "Acme",
      HOLT_IMPORT_MAX_BYTES: "plenty",
      HOLT_MIRROR_TIMEOUT: "soon",
      HOLT_MAX_CONNECTIONS_PER_ADDRESS: "many",
      HOLT_MAX_CONNECTIONS_PER_CALLER: "many",
      HOLT_MAX_TRANSFERS_PER_CALLER: "many",
      HOLT_MAX_SUBSCRIPTIONS: "none",
      HOLT_READ_TIMEOUT: "later",
      HOLT_TRUSTED_PROXIES: "proxy",
      HOLT_PULL_EVENTS: "all",
      HOLT_REGISTRY_CREATE_FOLDERS: "yes",
      HOLT_STOP_DELAY: "later",
      HOLT_PROCESSES: "all",
      HOLT_DATABASE_CHECK: "often",
      HOLT_AUDIT_CHECKPOINT: "often",
      HOLT_AUDIT_READS: "all reads",
      HOLT_AUDIT_RETENTION: "for ever",
      HOLT_AUDIT_STREAMS: "syslog",
    };
    // Any string is a valid value of these. The file of HOLT_SIGSTORE_TRUSTED_ROOT is checked when the server reads it.
    const free = [
      "HOLT_AUDIENCES",
      "HOLT_BACKUP_PASSPHRASE",
      "HOLT_USER_CLIENT_IDS",
      "HOLT_LOGIN_CLIENT_ID",
      "HOLT_LOGIN_CLIENT_SECRET",
      "HOLT_SIGSTORE_TRUSTED_ROOT",
    ];
    const names = Object.values(settings).map(({ env }) => env);
    assert.deepEqual(Object.keys(bad).concat(free).sort(), names.sort(), "this test does not cover every setting");
    for (const args of [[], ["token"]]) {
      const { code, stdout, stderr } = await runHoltd(args, { ...bad, HOLT_DATADIR: "/tmp/x" });
      assert.equal(code, 2);
      assert.match(stderr, /^holtd: invalid settings:\n/);
      for (const name of Object.keys(bad)) assert.match(stderr, new RegExp(`${name}.* must be`), name);
      assert.match(stderr, /HOLT_DATADIR: is not a setting of this version; did you mean "HOLT_DATA_DIR"\?\n/);
      assert.doesNotMatch(stderr, /\n {4}at /);
      assert.equal(stdout, "");
    }
  });

  test("commands refuse a data folder and a database that no server has used, and create nothing", async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, "mistyped");
    const HOLT_DATABASE_URL = await createDatabase();
    await writeFile(join(folder.path, "a.json"), "{}");
    const commands = [
      ["token"],
      ["keys", "rotate"],
      ["gc"],
      ["gc", "--dry-run"],
      ["recover", "my-org"],
      ["import", "advisories", join(folder.path, "a.json")],
      ["import", "vulnerabilities", join(folder.path, "a.json")],
      ["import", "libraries", "--ecosystem", "python", folder.path],
      ["backup", join(folder.path, "backup")],
    ];
    for (const args of commands) {
      const sqlite = await runHoltd(args, { HOLT_DATA_DIR: data });
      assert.deepEqual([sqlite.code, sqlite.stdout], [1, ""], args.join(" "));
      assert.equal(
        sqlite.stderr,
        `holtd: there is no Holt installation in the data folder ${data}; check HOLT_DATA_DIR, or start the server first, which creates one\n`,
      );
    }
    for (const path of [data, join(folder.path, "backup")]) await assert.rejects(stat(path), { code: "ENOENT" });
    for (const args of [["token"], ["gc"]]) {
      const postgres = await runHoltd(args, { HOLT_DATABASE_URL, HOLT_DATA_DIR: data });
      assert.equal(postgres.code, 1);
      assert.match(postgres.stderr, /^holtd: there is no Holt installation in the database .*; check HOLT_DATABASE_URL, or start/);
    }
    const client = new pg.Client({ connectionString: HOLT_DATABASE_URL });
    await client.connect();
    const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'");
    await client.end();
    assert.deepEqual(rows, []);
  });

  test("an unusable database address is reported without its password", async () => {
    for (const url of ["mysql://holt:verysecret@localhost/holt", "postgres://holt:verysecret@127.0.0.1:1/holt"]) {
      const { code, stdout, stderr } = await runHoltd(["token"], { HOLT_DATABASE_URL: url });
      assert.notEqual(code, 0);
      assert.ok(!(stdout + stderr).includes("verysecret"), stderr);
    }
  });

  test("several hosts of the database of which none answers are reported", async () => {
    await using folder = await temporaryFolder();
    for (const args of [[], ["token"]]) {
      const HOLT_DATABASE_URL = "postgres://holt:verysecret@127.0.0.1:1,127.0.0.1:2/holt";
      const { code, stdout, stderr } = await runHoltd(args, { HOLT_DATABASE_URL, HOLT_DATA_DIR: folder.path });
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, /^holtd: cannot use the database 127\.0\.0\.1:1,127\.0\.0\.1:2\/holt: .*ECONNREFUSED.*\n$/);
    }
  });

  test("holtd names a port that is in use and exits with code 1", async () => {
    await using folder = await temporaryFolder();
    const squatter = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => squatter.once("listening", resolve));
    const { port } = squatter.address() as { port: number };
    const { code, stdout, stderr } = await runHoltd([], {
      HOLT_DATA_DIR: folder.path,
      HOLT_LISTEN: `127.0.0.1:${port}`,
      HOLT_LOG_LEVEL: "error",
    });
    squatter.close();
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^holtd: .*127\\.0\\.0\\.1.*${port}.*\n$`));
    assert.match(stderr, /in use.*HOLT_LISTEN/);
    assert.equal(stdout, "");
  });

  test("holtd names an invalid data folder and exits with code 1", async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "file");
    await writeFile(file, "not a folder");
    for (const [args, data] of [
      [[], file],
      [["token"], file],
      [[], join(file, "data")],
      // Linux refuses new folders there with ENOENT.
      [[], "/proc/holt/data"],
    ] as const) {
      const { code, stdout, stderr } = await runHoltd(args, { HOLT_DATA_DIR: data });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /^holtd: .*data folder.*\n$/);
      assert.ok(stderr.includes(data), stderr);
      assert.equal(stdout, "");
    }
  });

  test("holtd names a data folder without write permission and exits with code 1", async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, "data");
    await mkdir(data);
    await chmod(folder.path, 0o755);
    await chmod(data, 0o555);
    // Root can write anywhere, so another user is needed.
    const uid = process.getuid?.() === 0 ? 65534 : undefined;
    for (const args of [[], ["token"]]) {
      const { code, stderr } = await runHoltd(args, { HOLT_DATA_DIR: data }, uid);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /^holtd: .*data folder.*\n$/);
      assert.ok(stderr.includes(data), stderr);
    }
  });

  test("holtd refuses the data of a newer version and leaves it unchanged", async () => {
    await using folder = await temporaryFolder();
    await createInstallation({ HOLT_DATA_DIR: folder.path });
    using database = new DatabaseSync(join(folder.path, "holt.db"));
    database.exec("insert into schema_migration (version, name, applied_time) values (999, 'later', '2040-01-01T00:00:00.000Z')");
    const before = database.prepare("select count(*) as n from identity").get();
    for (const args of [[], ["token"], ["keys", "rotate"]]) {
      const { code, stderr } = await runHoltd(args, { HOLT_DATA_DIR: folder.path });
      assert.equal(code, 1);
      assert.match(stderr, /^holtd: .*written by a newer Holt \(schema 999\).*\n$/);
    }
    assert.deepEqual(database.prepare("select count(*) as n from identity").get(), before);
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
