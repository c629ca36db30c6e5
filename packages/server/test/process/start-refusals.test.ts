/** Tests the errors that an operator gets: wrong command lines and settings, unusable data folders, databases and ports. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { TLSSocket } from "node:tls";
import pg from "pg";
import { generate } from "selfsigned";
import { settings } from "../../src/config.ts";
import { createInstallation, runHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabase } from "../harness/postgres.ts";

describe("errors of holtd", { concurrency: 2 }, () => {
  test("a wrong command line ends with exit code 2 and says what is wrong", async () => {
    await using folder = await temporaryFolder();
    const settings = { HOLT_DATA_DIR: folder.path };
    for (const [args, message] of [
      [["docter"], /^holtd: there is no command "docter"; did you mean "doctor"\?\n.*holtd help.*\n$/],
      [["import"], /^holtd: there is no command "import"; there is .*"import libraries"/],
      [["gc", "--dry"], /^holtd: Unknown option '--dry'\n.*holtd help.*\n$/],
      [["token", "--lnk"], /^holtd: Unknown option '--lnk'; did you mean "--link"\?\n.*holtd help.*\n$/],
      [["verify", "--qick"], /^holtd: Unknown option '--qick'; did you mean "--quick"\?\n\nUsage/],
      [["import", "libraries", "--ecosytem", "java", "x"], /^holtd: Unknown option '--ecosytem'; did you mean "--ecosystem"\?\n\nUsage/],
      [["import", "advisories", "--gruop", "x"], /^holtd: Unknown option '--gruop'; did you mean "--group"\?\n\nUsage/],
      [["keys", "rotate", "--dry-run"], /^holtd: --dry-run is an option of "gc", not of "keys rotate"\n$/],
      [["recover"], /^holtd: name the organization, .*holtd recover ORG\n$/],
      [["audit"], /^holtd: give "verify" or "export"\n\nUsage: holtd audit/],
      [["audit", "verify", "--fil", "x"], /^holtd: Unknown option '--fil'; did you mean "--file"\?\n\nUsage/],
    ] as const) {
      const { code, stderr } = await runHoltd(args, settings);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
  });

  test("help with a command prints the help of that command", async () => {
    for (const command of [["gc"], ["keys", "rotate"], ["backup"], ["import", "org"], ["audit"]]) {
      const [helped, asked] = [await runHoltd(["help", ...command], {}), await runHoltd([...command, "--help"], {})];
      assert.deepEqual([helped.code, helped.stdout], [0, asked.stdout], command.join(" "));
      assert.match(helped.stdout, /^Usage: holtd /);
    }
    assert.equal((await runHoltd(["help", "bakup"], {})).code, 0, "an unknown command gets the whole help");
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
      const { code, stdout, stderr } = await runHoltd(args, { ...bad, HOLT_DATADIR: "/tmp/x", HOLT_PORT: "9000" });
      assert.equal(code, 2);
      assert.match(stderr, /^holtd: invalid settings:\n/);
      for (const name of Object.keys(bad)) assert.match(stderr, new RegExp(`${name}.* must be`), name);
      assert.match(stderr, /HOLT_DATADIR: is not a setting of this version; did you mean "HOLT_DATA_DIR"\?\n/);
      assert.match(stderr, /HOLT_PORT: is not a setting of this version; did you mean "HOLT_LISTEN"\?\n/);
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

  test("a role that may not create tables is reported with the remedy, also by doctor", async () => {
    await using folder = await temporaryFolder();
    const url = new URL(await createDatabase());
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    const role = url.pathname.slice(1);
    await client.query(`create role ${role} login password 'x'`);
    [url.username, url.password] = [role, "x"];
    const settings = { HOLT_DATABASE_URL: url.href, HOLT_DATA_DIR: folder.path };
    const { code, stderr } = await runHoltd([], settings);
    const doctor = await runHoltd(["doctor"], settings);
    await client.query(`drop role ${role}`);
    await client.end();
    assert.equal(code, 1);
    assert.match(stderr, /^holtd: cannot use the database .*: permission denied .*; make the role .* the owner of the database/);
    assert.match(doctor.stdout, /^database: the role of HOLT_DATABASE_URL may not create tables\. Remedy: make the role .* the owner/m);
  });

  test("a database whose certificate is not trusted is reported with the remedy, also by doctor", async () => {
    await using folder = await temporaryFolder();
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
    const server = createServer((socket) => {
      // PostgreSQL agrees to TLS with one byte.
      socket.once("data", () => {
        socket.write("S");
        new TLSSocket(socket, { isServer: true, key, cert }).on("error", () => {});
      });
      socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const settings = { HOLT_DATABASE_URL: `postgres://holt:x@localhost:${port}/holt?sslmode=verify-full`, HOLT_DATA_DIR: folder.path };
    const { code, stderr } = await runHoltd([], settings);
    const doctor = await runHoltd(["doctor"], settings);
    server.close();
    assert.equal(code, 1);
    assert.match(stderr, /^holtd: cannot use the database .*certificate.*; name the authority .*sslrootcert=/);
    assert.match(doctor.stdout, /^database: the database cannot be read: .*certificate.* Remedy: name the authority .*sslrootcert=/m);
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
});
