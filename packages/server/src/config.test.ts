import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import fc from "../test/harness/property.ts";
import { ConfigError, readConfig, settings } from "./config.ts";

/** Any code units, half surrogate pairs among them. */
const anyText = fc.array(fc.nat({ max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units));

type Env = Readonly<Record<string, string>>;

function problemOf(env: Env): string {
  try {
    readConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return "";
}

const GOOD: Readonly<Record<string, readonly string[]>> = {
  HOLT_LISTEN: ["127.0.0.1:8080", "[::1]:1", "[::]:65535", "localhost:8080", "0.0.0.0:80"],
  HOLT_DATA_DIR: ["data", "/var/lib/holt", "with space"],
  HOLT_DATABASE_URL: [
    "",
    "postgres://u:p@h:5432/db",
    "postgres://u:p%2F%23%25%40@h/db",
    "postgres://u:p@ss@h/db",
    "postgres://u:p@a:5432,b:5433/db?target_session_attrs=read-write",
    "postgres://h/db?user=a@b",
    "postgresql://h/db?sslmode=require",
  ],
  HOLT_DATABASE_POOL_SIZE: ["1", "10", "1000"],
  HOLT_BASE_URL: ["", "https://holt.example.com", "http://127.0.0.1:8080/", "https://[::1]:8443"],
  HOLT_ORG_NAME: ["acme", "my org", "a.b_c-1"],
  HOLT_VENDOR_PROFILE: ["", "chainguard"],
  HOLT_LOG_LEVEL: ["debug", "info", "warn", "error", "silent"],
  HOLT_MAX_CONCURRENT_CALLS: ["1", "1000000"],
  HOLT_MAX_CONNECTIONS_PER_ADDRESS: ["0", "1000000"],
  HOLT_MAX_CONNECTIONS_PER_CALLER: ["0", "1"],
  HOLT_MAX_MAILS_PER_HOUR: ["1", "1000000000"],
  HOLT_MAX_TRANSFERS_PER_CALLER: ["0", "256"],
  HOLT_READ_TIMEOUT: ["1s", "5m"],
  HOLT_STOP_DELAY: ["0", "15s"],
  HOLT_METRICS_LISTEN: ["", "127.0.0.1:9464", "[::]:9464"],
  OTEL_EXPORTER_OTLP_ENDPOINT: ["", "http://127.0.0.1:4318", "https://otel.example.com/tenant"],
  HOLT_DATABASE_CHECK: ["0", "24h"],
  HOLT_TRUSTED_PROXIES: ["", "127.0.0.1", "::1,10.0.0.0/8", "fd00::/8"],
  HOLT_AUDIENCES: ["", "a, b,,c", "*.example.com, https://api.example.com:8443/v1"],
  HOLT_USER_ISSUERS: ["", "https://a.example.com, https://b.example.com/tenant"],
  HOLT_USER_CLIENT_IDS: ["", "client"],
  HOLT_SERVICE_PRINCIPALS: ["", "INGESTER=https://issuer.example.com system:ingester"],
  HOLT_SECRETS_KEY: ["", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="],
  HOLT_REQUIRED_TERMS: ["", "tos.v1", "tos.v1=https://example.com/tos, sfdpa.v1=https://example.com/dpa Data Processing Agreement"],
  HOLT_OUTBOUND_ALLOW_CIDRS: ["", "10.0.0.0/8, fd00::/8", "127.0.0.1/32"],
  HOLT_AWS_STS_URL: ["https://sts.amazonaws.com", "http://127.0.0.1:9000"],
  HOLT_REGISTRY_URL: ["", "https://registry.example.com", "http://127.0.0.1:5000/"],
  HOLT_GC_GRACE: ["0", "10s", "30m", "24h", "87600h"],
  HOLT_GC_INTERVAL: ["0", "1s", "480h"],
  HOLT_WEBHOOK_BACKOFF: ["5s", "50ms, 1m,6h"],
  HOLT_WEBHOOK_TIMEOUT: ["1ms", "30s", "1h"],
  HOLT_WEBHOOK_GIVE_UP: ["500ms", "72h"],
  HOLT_EVENT_RETENTION: ["1s", "720h"],
  HOLT_PULL_EVENTS: ["blobs", "manifests", "hourly", "off", `${"0".repeat(40)}=off`, `hourly, ${"f".repeat(40)}=blobs`],
  HOLT_REGISTRY_CREATE_FOLDERS: ["on", "off"],
  HOLT_CONSOLE: ["on", "off"],
  HOLT_BLOBS: ["folder", "s3://bucket", "s3://bucket/", "s3://my.bucket-1/a/b"],
  HOLT_BLOBS_FALLBACK: ["", "s3://bucket/prefix"],
  HOLT_BLOBS_REDIRECT: ["on", "off", "https://s3.example.com", "http://10.0.0.1:9000"],
  HOLT_S3_ENDPOINT: ["", "https://s3.example.com", "http://127.0.0.1:9000"],
  HOLT_S3_REGION: ["", "eu-central-1"],
  HOLT_S3_PATH_STYLE: ["on", "off"],
  HOLT_IMAGE_PACKAGES: ["on", "off"],
  HOLT_PUBLIC_CONTENT: ["on", "off"],
  HOLT_MAX_SUBSCRIPTIONS: ["1", "100000"],
  HOLT_IMPORT_MAX_BYTES: ["1", "2147483648"],
  HOLT_MIRROR_TIMEOUT: ["300ms", "24h"],
  HOLT_PUBLIC_ADVISORIES: ["", "*", "none", "0123456789".repeat(4), `${"0".repeat(40)}, ${"f".repeat(40)},`],
};

const BAD: Readonly<Record<string, readonly string[]>> = {
  HOLT_SMTP_URL: ["mail.example.com", "http://mail.example.com", "smtp://", "smtp://h/path", "smtp://h?x", "smtp://u:50%@h", "smtp://:p@h"],
  HOLT_SMTP_FROM: ["Holt", "a@b.c, d@e.f", "Holt <a@b.c", "Holt <a@b.c> <d@e.f>", "a@b.c\nBcc: d@e.f"],
  HOLT_PULL_EVENTS: ["all", "off,blobs", "x=off", `${"0".repeat(40)}=`, `${"0".repeat(40)}/${"0".repeat(16)}=off`],
  HOLT_REGISTRY_CREATE_FOLDERS: ["", "yes"],
  HOLT_METRICS_LISTEN: ["9464", ":9464"],
  OTEL_EXPORTER_OTLP_ENDPOINT: ["127.0.0.1:4318", "grpc://127.0.0.1:4317"],
  HOLT_LISTEN: ["", "8080", ":8080", "h:65536", "h:", "h:x", "::1:80", "a b:80", "http://h:80"],
  HOLT_DATA_DIR: ["", " "],
  HOLT_DATABASE_URL: [
    "postgres://a,b/db?target_session_attrs=any",
    "postgres://a,/db:1@",
    "mysql://h/db",
    "postgres://h",
    "postgres://h/",
    "file.db",
    "h/db",
  ],
  HOLT_PROCESSES: ["", "0", "65", "-2", "auto", "1.5"],
  HOLT_DATABASE_POOL_SIZE: ["", "0", "1001", "-1", "1.5", "1e2", "ten", " 5"],
  HOLT_BASE_URL: [
    "holt.example.com",
    "ftp://h",
    "https://h/path",
    "https://h?q",
    "https://h#f",
    "https://u:p@h",
    "https://u@h",
    "https://:p@h",
  ],
  HOLT_ORG_NAME: ["", "Acme", "ä", "a/b", "a".repeat(256)],
  HOLT_VENDOR_PROFILE: ["Chainguard", "__proto__", " "],
  HOLT_LOG_LEVEL: ["", "INFO", "trace", "info "],
  HOLT_MAX_CONCURRENT_CALLS: ["0", "1000001", "x"],
  HOLT_MAX_CONNECTIONS_PER_ADDRESS: ["", "-1", "1000001"],
  HOLT_MAX_CONNECTIONS_PER_CALLER: ["", "x"],
  HOLT_MAX_MAILS_PER_HOUR: ["", "0", "many"],
  HOLT_MAX_TRANSFERS_PER_CALLER: ["", "1.5"],
  HOLT_READ_TIMEOUT: ["", "0", "30", "999ms", "2h"],
  HOLT_STOP_DELAY: ["", "15", "soon"],
  HOLT_DATABASE_CHECK: ["", "24", "often"],
  HOLT_TRUSTED_PROXIES: ["proxy.example.com", "10.0.0.0/33", "10.0.0", "fd00::/129"],
  HOLT_AUDIENCES: ["*", "*.", "builds,*", "https://*.example.com"],
  HOLT_USER_ISSUERS: ["accounts.example.com", "https://a.example.com,b"],
  HOLT_LOCAL_ACCOUNTS: ["true", "ON"],
  HOLT_LOGIN_ISSUER: ["accounts.example.com", "https://u:p@accounts.example.com", "https://accounts.example.com?x"],
  HOLT_PINNED_ISSUERS: ["https://issuer.example.com", "https://issuer.example.com=/no/such/file", "issuer=/no/such/file"],
  HOLT_SERVICE_PRINCIPALS: [
    "INGESTER",
    "INGESTER=x",
    "NOBODY=https://i s",
    "UNSPECIFIED=https://i s",
    "__proto__=https://i s",
    "INGESTER=issuer s",
  ],
  HOLT_SECRETS_KEY: ["secret", "c2hvcnQ=", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE", "0123456789012345678901234567890"],
  HOLT_REQUIRED_TERMS: ["Terms", "a b", "tos.v1=", "tos.v1=example.com", "=https://example.com", "tos.v1 https://example.com"],
  HOLT_OUTBOUND_ALLOW_CIDRS: ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "host/8", "10.0.0.0/-1", "10.0.0.0/8/8"],
  HOLT_AWS_STS_URL: ["", "sts.amazonaws.com", "file:///etc", "https://h/sts", "https://h?x", "https://u:p@h"],
  HOLT_REGISTRY_URL: ["registry.example.com", "https://registry.example.com/v2", "https://u:p@h"],
  HOLT_GC_GRACE: ["", "soon", "1d", "-1s", "1.5h", "87601h"],
  HOLT_GC_INTERVAL: ["", "1", "500ms", "481h"],
  HOLT_WEBHOOK_BACKOFF: ["", "0", "5s,", "5s,,1m", "5s;1m", "25h"],
  HOLT_WEBHOOK_TIMEOUT: ["", "0", "30", "2h"],
  HOLT_WEBHOOK_GIVE_UP: ["", "0", "3d"],
  HOLT_EVENT_RETENTION: ["", "0", "999ms", "30d"],
  HOLT_CONSOLE: ["", "ON", "true", "0"],
  HOLT_BLOBS: ["", "/data", "s3:/bucket", "s3://", "s3://B", "s3://bucket/../x", "s3://bucket?x", "S3://bucket"],
  HOLT_BLOBS_FALLBACK: ["none", "s3://"],
  HOLT_BLOBS_REDIRECT: ["", "true", "https://h/path", "ftp://h", "https://u@h"],
  HOLT_S3_ENDPOINT: ["s3.example.com", "ftp://h"],
  HOLT_S3_PATH_STYLE: ["", "true"],
  HOLT_S3_REGION: ["EU", "eu central"],
  HOLT_IMAGE_PACKAGES: ["", "ON", "true", "0"],
  HOLT_MIN_FREE_DISK: ["", "-1", "1GiB"],
  HOLT_SIGNING_KEY_ROTATION: ["", "30d", "500ms"],
  HOLT_AUDIT_RETENTION: ["", "500ms", "101y", "-1h"],
  HOLT_AUDIT_CHECKPOINT: ["", "0", "50ms", "25h"],
  HOLT_AUDIT_READS: ["GetGroup!", "a b"],
  HOLT_AUDIT_STREAMS: ["audit.log", "ftp://host/path", "syslog://host", "file://audit.log", "file:///var/log/", "syslog+tcp://host/path"],
  HOLT_WAL_ARCHIVE: ["s3://", "ftp://host/path", "s3://bucket/prefix?user=me"],
  HOLT_WAL_ARCHIVE_RETENTION: ["", "0", "7d", "59m"],
  HOLT_PUBLIC_CONTENT: ["", "yes"],
  HOLT_MAX_SUBSCRIPTIONS: ["", "0", "100001", "many"],
  HOLT_IMPORT_MAX_BYTES: ["", "0", "2GiB", "1000000000001"],
  HOLT_MIRROR_TIMEOUT: ["", "0", "30", "25h"],
  HOLT_PUBLIC_ADVISORIES: [
    ",",
    "all",
    "None",
    "my-org",
    "0".repeat(39),
    "A".repeat(40),
    `${"0".repeat(40)}/${"0".repeat(16)}`,
    `*,${"0".repeat(40)}`,
  ],
};

describe("settings", () => {
  test("missing settings have defaults that a server can start with", () => {
    const config = readConfig({});
    assert.deepEqual(config.listen, { host: "127.0.0.1", port: 8080 });
    assert.equal(config.baseUrl, "http://127.0.0.1:8080");
    assert.equal(config.dataDir, resolve("./data"));
    assert.equal(config.databaseUrl, "");
    assert.equal(config.logLevel, "info");
    assert.deepEqual([config.audiences, config.userIssuers, config.outboundAllowCidrs], [[], [], []]);
    assert.equal(config.servicePrincipals.size, 0);
  });

  test("every valid value is accepted", () => {
    for (const [name, values] of Object.entries(GOOD))
      for (const value of values) assert.equal(problemOf({ [name]: value }), "", `${name}=${value}`);
  });

  test("an invalid value is refused with the name of the setting, the value and what it must be", () => {
    for (const [name, values] of Object.entries(BAD)) {
      for (const value of values) {
        const problem = problemOf({ [name]: value });
        assert.match(problem, new RegExp(`^${name}: ".*" must be .{3,}$`), `${name}=${value}`);
      }
    }
    const free = [
      "HOLT_BACKUP_PASSPHRASE",
      "HOLT_USER_CLIENT_IDS",
      "HOLT_LOGIN_CLIENT_ID",
      "HOLT_LOGIN_CLIENT_SECRET",
      "HOLT_SIGSTORE_TRUSTED_ROOT",
      "HOLT_TLS_CERT",
      "HOLT_TLS_KEY",
    ];
    const looked = new Set([...Object.keys(BAD), ...free]);
    assert.deepEqual(
      [...looked].sort(),
      Object.values(settings)
        .map(({ env }) => env)
        .sort(),
    );
  });

  test("an invalid list is refused with a message that says it is a list", () => {
    assert.match(problemOf({ HOLT_WEBHOOK_BACKOFF: "5s;1m" }), /such as .*, or several, separated by commas$/);
  });

  test("a duration out of range is refused with examples within the range", () => {
    assert.match(problemOf({ HOLT_READ_TIMEOUT: "2h" }), /must be a duration from 1s to 1h, such as 30m or 10s$/);
    assert.match(problemOf({ HOLT_WAL_ARCHIVE_RETENTION: "1s" }), /must be a duration from 1h to 87600h, such as 24h$/);
  });

  test("metrics and the API cannot have the same address", () => {
    const address = "127.0.0.1:8080";
    assert.equal(
      problemOf({ HOLT_LISTEN: address, HOLT_METRICS_LISTEN: address }),
      "HOLT_METRICS_LISTEN must not be the address of HOLT_LISTEN",
    );
  });

  test("a copy of blobs or of the database is not in the place of the original", () => {
    for (const place of ["folder", "s3://bucket/prefix"])
      assert.equal(
        problemOf({ HOLT_BLOBS: place, HOLT_BLOBS_FALLBACK: `${place}` }),
        "HOLT_BLOBS_FALLBACK must not be the place of HOLT_BLOBS",
      );
    for (const archive of ["data", "./data/archive"])
      assert.equal(problemOf({ HOLT_WAL_ARCHIVE: archive, HOLT_DATA_DIR: "./data" }), "HOLT_WAL_ARCHIVE must not be in HOLT_DATA_DIR");
    assert.equal(problemOf({ HOLT_WAL_ARCHIVE: "data-archive", HOLT_DATA_DIR: "data" }), "");
  });

  test("all invalid settings are reported together", () => {
    const problem = problemOf({ HOLT_LISTEN: "x", HOLT_LOG_LEVEL: "y", HOLT_TYPO: "", HOLT_TLS_CERT: "cert.pem" });
    assert.equal(problem.split("\n").length, 4);
    for (const name of ["HOLT_LISTEN", "HOLT_LOG_LEVEL", "HOLT_TYPO: is not a setting", "HOLT_TLS_CERT and HOLT_TLS_KEY"])
      assert.ok(problem.includes(name), problem);
  });

  test("this server is not an issuer whose tokens register people", () => {
    for (const issuers of [
      { HOLT_USER_ISSUERS: "https://holt.example.com" },
      { HOLT_LOGIN_ISSUER: "https://holt.example.com/", HOLT_LOGIN_CLIENT_ID: "x" },
    ])
      assert.match(problemOf({ HOLT_BASE_URL: "https://holt.example.com", ...issuers }), /must not be this server itself/);
  });

  test("an unknown setting is reported with the nearest known one, and without a list of all", () => {
    assert.equal(problemOf({ HOLT_LISTN: "x" }), 'HOLT_LISTN: is not a setting of this version; did you mean "HOLT_LISTEN"?');
    assert.equal(
      problemOf({ HOLT_QUUX_ZAP: "x" }),
      "HOLT_QUUX_ZAP: is not a setting of this version; docs/configuration.md lists the settings",
    );
  });

  test("variables of the command line may be set in the shell that starts the server", () => {
    assert.equal(
      problemOf({
        HOLT_URL: "http://h",
        HOLT_TOKEN: "t",
        HOLT_CONTEXT: "c",
        HOLT_CONFIG_DIR: "/d",
        HOLT_CREDENTIAL_STORE: "file",
        HOLT_COMPLETION_TIMEOUT: "1s",
      }),
      "",
    );
  });

  test("variables without the prefix HOLT_ are ignored", () => {
    assert.equal(problemOf({ PATH: "/bin", holt_x: "1", MY_HOLT_X: "1" }), "");
  });

  test("the server refuses to start with only one of HOLT_TLS_CERT and HOLT_TLS_KEY", () => {
    for (const env of [{ HOLT_TLS_CERT: "c" }, { HOLT_TLS_KEY: "k" }])
      assert.match(problemOf(env as unknown as Env), /must be set together/);
    assert.equal(readConfig({ HOLT_TLS_CERT: "c", HOLT_TLS_KEY: "k" }).baseUrl, "https://127.0.0.1:8080");
  });

  test("HOLT_LOGIN_ISSUER needs HOLT_LOGIN_CLIENT_ID, its users may register, and its secret is not printed", () => {
    const login = { HOLT_LOGIN_ISSUER: "https://idp.example.com", HOLT_LOGIN_CLIENT_ID: "holt" };
    assert.match(problemOf({ HOLT_LOGIN_ISSUER: login.HOLT_LOGIN_ISSUER }), /must be set together/);
    assert.match(problemOf({ HOLT_LOGIN_CLIENT_ID: "holt" }), /must be set together/);
    assert.match(problemOf({ HOLT_LOGIN_CLIENT_SECRET: "s" }), /HOLT_LOGIN_CLIENT_SECRET needs HOLT_LOGIN_ISSUER and HOLT_LOGIN_CLIENT_ID/);
    const config = readConfig({ ...login, HOLT_USER_ISSUERS: "https://a.example.com", HOLT_USER_CLIENT_IDS: "holt,b" });
    assert.deepEqual(config.userIssuers, ["https://a.example.com", "https://idp.example.com"]);
    assert.deepEqual(config.userClientIds, ["holt", "b"]);
    assert.doesNotMatch(problemOf({ HOLT_LOGIN_CLIENT_SECRET: "verysecret", HOLT_LOGIN_CLIENT_ID: "holt" }), /verysecret/);
  });

  test("HOLT_SMTP_URL needs HOLT_SMTP_FROM, and is not printed", () => {
    const mail = { HOLT_SMTP_URL: "smtp://holt:very%20secret@mail.example.com:25", HOLT_SMTP_FROM: "Holt <holt@example.com>" };
    assert.equal(problemOf(mail), "");
    assert.match(problemOf({ HOLT_SMTP_FROM: mail.HOLT_SMTP_FROM }), /must be set together/);
    assert.doesNotMatch(problemOf({ HOLT_SMTP_URL: mail.HOLT_SMTP_URL }), /secret/);
    assert.doesNotMatch(problemOf({ ...mail, HOLT_SMTP_URL: "smtp://holt:very#secret@mail.example.com" }), /secret/);
  });

  test("the default base URL names an address that reaches the server", () => {
    const baseUrl = (HOLT_LISTEN: string) => readConfig({ HOLT_LISTEN }).baseUrl;
    assert.equal(baseUrl("10.1.2.3:80"), "http://10.1.2.3:80");
    assert.equal(baseUrl("0.0.0.0:8080"), "http://127.0.0.1:8080");
    assert.equal(baseUrl("[::]:8080"), "http://127.0.0.1:8080");
    assert.equal(baseUrl("[::1]:8080"), "http://[::1]:8080");
    assert.equal(readConfig({ HOLT_BASE_URL: "https://Holt.example.com:443/" }).baseUrl, "https://holt.example.com");
  });

  test("lists, service principals and pinned keys are parsed", async () => {
    assert.deepEqual(readConfig({ HOLT_AUDIENCES: " a ,, b" }).audiences, ["a", "b"]);
    const { servicePrincipals } = readConfig({ HOLT_SERVICE_PRINCIPALS: "INGESTER=https://i one, INGESTER=https://i two" });
    assert.deepEqual(servicePrincipals.get(ServicePrincipal.INGESTER), [
      { issuer: "https://i", subject: "one" },
      { issuer: "https://i", subject: "two" },
    ]);
    const folder = await mkdtemp(join(tmpdir(), "holt-config-"));
    const file = join(folder, "jwks.json");
    writeFileSync(file, '{"keys":[]}');
    assert.deepEqual(readConfig({ HOLT_PINNED_ISSUERS: `https://i.example.com=${file}` }).pinnedIssuers.get("https://i.example.com"), {
      keys: [],
    });
    await rm(folder, { recursive: true });
  });

  test("the name that Google's issuer has without a scheme means its URL in every setting of issuers", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holt-config-"));
    const file = join(folder, "jwks.json");
    writeFileSync(file, '{"keys":[]}');
    const config = readConfig({
      HOLT_USER_ISSUERS: "accounts.google.com",
      HOLT_LOGIN_ISSUER: "accounts.google.com",
      HOLT_LOGIN_CLIENT_ID: "holt",
      HOLT_PINNED_ISSUERS: `accounts.google.com=${file}`,
      HOLT_SERVICE_PRINCIPALS: "INGESTER=accounts.google.com one",
    });
    await rm(folder, { recursive: true });
    const principals = [...config.servicePrincipals.values()].flat().map(({ issuer }) => issuer);
    const issuers = [config.userIssuers, config.loginIssuer, [...config.pinnedIssuers.keys()], principals].flat();
    assert.deepEqual(issuers, Array(4).fill("https://accounts.google.com"));
  });

  test("any string is either accepted or refused with a ConfigError", () => {
    const name = fc.constantFrom(...Object.values(settings).map(({ env }) => env));
    const text = fc.oneof(fc.string(), anyText, fc.constantFrom(...Object.values(BAD).flat(), ...Object.values(GOOD).flat()));
    fc.assert(
      fc.property(fc.dictionary(name, text, { maxKeys: 4 }), (env) => void problemOf(env)),
      { numRuns: 2000 },
    );
  });

  test("the message about an invalid database URL does not contain its password", () => {
    const odd = fc.constantFrom("/", ":", "@", "?", "#", "%", " ", "", "\\", "[");
    fc.assert(
      fc.property(fc.tuple(odd, odd), fc.constantFrom("mysql://", "postgres:", "", "jdbc:postgresql://"), ([left, right], scheme) => {
        const problem = problemOf({ HOLT_DATABASE_URL: `${scheme}user:${left}verysecret${right}@host/db` });
        assert.doesNotMatch(problem, /verysecret/);
      }),
    );
    for (const password of ["12/secret", "se/cret", "p#secret", "12#secret", "12?secret", "se%cret", "12/se@cret", "s@e?cret"]) {
      const problem = problemOf({ HOLT_DATABASE_URL: `postgres://holt:${password}@db.example.com/holt` });
      assert.match(problem, /HOLT_DATABASE_URL: .* must be a valid URL: .*Escape special characters.* %2F/, password);
      assert.ok(!problem.includes("cret") && !problem.includes("se/"), problem);
    }
    assert.doesNotMatch(problemOf({ HOLT_DATABASE_URL: "postgres://holt:verysecret" }), /verysecret/);
    assert.doesNotMatch(problemOf({ HOLT_DATABASE_URL: "mysql://h/db?password=p@verysecret" }), /verysecret/);
    assert.doesNotMatch(problemOf({ HOLT_DATABASE_URL: "mysql://host/db?user=u&password=verysecret" }), /verysecret/);
    assert.match(problemOf({ HOLT_DATABASE_URL: "mysql://u:verysecret@host/db" }), /host/);
  });

  test("the message about an invalid secret does not contain the secret", () => {
    for (const { env, isSecret } of Object.values(settings))
      if (isSecret) assert.doesNotMatch(problemOf({ [env]: "very\tsecret\n" }), /very/, env);
  });
});
