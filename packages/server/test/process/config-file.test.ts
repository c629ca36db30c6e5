/** Tests settings from a file, secrets from files, and the commands that check and print settings. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { settings } from "../../src/config.ts";
import { freePort } from "../harness/free-port.ts";
import { get, printedToken, runHoltd, startHoltd, startProcess, temporaryFolder, untilReady } from "../harness/holtd.ts";

const KEY = Buffer.alloc(32, 7).toString("base64");

async function configFile(folder: string, text: string): Promise<{ HOLT_CONFIG: string }> {
  const path = join(folder, "config.yaml");
  await writeFile(path, text);
  return { HOLT_CONFIG: path };
}

async function problemOf(env: Readonly<Record<string, string>>): Promise<string> {
  const { code, stdout, stderr } = await runHoltd(["config", "check"], env);
  assert.deepEqual([code, stdout], [2, ""], stderr);
  return stderr;
}

describe("settings from files", () => {
  test("a server takes its settings from the file of HOLT_CONFIG, and so do commands", async () => {
    await using folder = await temporaryFolder();
    const port = await freePort();
    const env = await configFile(
      folder.path,
      `# of the test\nHOLT_LISTEN: 127.0.0.1:${port}\nHOLT_DATA_DIR: ${join(folder.path, "data")}\nHOLT_ORG_NAME: 1.10\n` +
        `HOLT_TRUSTED_PROXIES: [127.0.0.1, 10.0.0.0/8]\nHOLT_MAX_SUBSCRIPTIONS: 10\nHOLT_SMTP_URL: ""\nHOLT_CONSOLE: off\n`,
    );
    await using server = startProcess([], env);
    await untilReady(server);
    assert.match(server.stdout(), new RegExp(`TOKEN=\\$\\(HOLT_CONFIG=${env.HOLT_CONFIG} npm run -s token\\)`));
    const { json } = await get(`http://127.0.0.1:${port}`, "/iam/v2/groups?uidp.in_root=true", await printedToken(env));
    assert.deepEqual(
      (json as { groups: { name: string }[] }).groups.map(({ name }) => name),
      ["1.10"],
    );
  });

  test("a variable of the environment wins over the file, also where one of them names a secret's file", async () => {
    await using folder = await temporaryFolder();
    const secret = join(folder.path, "secret");
    await writeFile(secret, "smtps://from-secret-file.example.com\n");
    const from = "HOLT_SMTP_FROM: a@example.com\nHOLT_LOG_LEVEL: warn\n";
    const values = await configFile(folder.path, `${from}HOLT_SMTP_URL: http://unusable.example.com\n`);
    const { stdout, code } = await runHoltd(["config", "print"], { ...values, HOLT_SMTP_URL_FILE: secret, HOLT_LOG_LEVEL: "error" });
    assert.equal(code, 0);
    assert.match(stdout, /^HOLT_LOG_LEVEL: "error" {2}# environment$/m);
    assert.ok(stdout.includes(`HOLT_SMTP_URL: "***"  # ${secret}, by HOLT_SMTP_URL_FILE in environment\n`), stdout);
    assert.ok(stdout.includes(`HOLT_SMTP_FROM: "a@example.com"  # ${values.HOLT_CONFIG}\n`), stdout);
    const files = await configFile(folder.path, `${from}HOLT_SMTP_URL_FILE: ${secret}\n`);
    assert.match(await problemOf({ ...files, HOLT_SMTP_URL: "http://unusable.example.com" }), /HOLT_SMTP_URL: "\*\*\*" must be/);
    assert.equal((await runHoltd(["config", "check"], files)).stdout, "The settings are valid.\n");
  });

  test("a server unseals its secrets with a key from a file", async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "key");
    await writeFile(file, `${KEY}\n`);
    const shared = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_LOG_LEVEL: "error" };
    for (const key of [{ HOLT_SECRETS_KEY: KEY }, { HOLT_SECRETS_KEY_FILE: file }]) {
      await using server = await startHoltd({ ...shared, ...key });
      server.kill("SIGTERM");
      assert.equal((await server.ended).code, 0);
    }
    await writeFile(file, Buffer.alloc(32, 8).toString("base64"));
    const other = await runHoltd([], { ...shared, HOLT_SECRETS_KEY_FILE: file });
    assert.match(other.stderr, /secrets of this database cannot be decrypted/);
  });

  test("every mistake in the file and in secrets' files is reported with its place, and without secrets", async () => {
    await using folder = await temporaryFolder();
    const env = await configFile(
      folder.path,
      `HOLT_LISTN: 127.0.0.1:80\nHOLT_LISTEN: nowhere\nHOLT_ORG_NAME: {a: b}\nHOLT_SECRETS_KEY: very-secret\nHOLT_CONFIG: other.yaml\n`,
    );
    const text = await problemOf({
      ...env,
      HOLT_DATABASE_URL: "postgres://u:very-secret@h/db",
      HOLT_DATABASE_URL_FILE: "/dev/null",
      HOLT_SMTP_URL_FILE: join(folder.path, "missing"),
      HOLT_SECRETS_KEYS_FILE: "x",
    });
    const at = `(in ${env.HOLT_CONFIG})`;
    for (const line of [
      `HOLT_LISTN: is not a setting of this version; did you mean "HOLT_LISTEN"? ${at}`,
      `HOLT_LISTEN: "nowhere" must be host:port, such as 127.0.0.1:8080 or [::1]:8080 ${at}`,
      `HOLT_ORG_NAME: must be a string, a number or a list of them; "" is an empty one ${at}`,
      "HOLT_DATABASE_URL and HOLT_DATABASE_URL_FILE must not be set together",
      'HOLT_SECRETS_KEYS_FILE: is not a setting of this version; did you mean "HOLT_SECRETS_KEY_FILE"?',
    ])
      assert.ok(text.includes(`\n${line}\n`), `${line}\nis missing in:\n${text}`);
    assert.match(text, /HOLT_CONFIG: is not a setting .*config\.yaml/);
    assert.match(text, /HOLT_SMTP_URL_FILE: ".*missing" must be the path of a readable file: ENOENT/);
    assert.match(text, /HOLT_SECRETS_KEY: "\*\*\*" must be/);
    assert.doesNotMatch(text, /very-secret/);
  });

  test("an empty secret's file is refused, and does not select the default", async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "secret");
    await writeFile(file, " \n");
    for (const name of ["HOLT_DATABASE_URL_FILE", "HOLT_SECRETS_KEY_FILE", "HOLT_BACKUP_PASSPHRASE_FILE"])
      assert.equal(
        await problemOf({ [name]: file }),
        `holtd: invalid settings:\n${name}: the file ${JSON.stringify(file)} must contain the secret, but it is empty\nSee docs/configuration.md.\n`,
      );
  });

  test("a variable of a library in the file is referred to the environment", async () => {
    await using folder = await temporaryFolder();
    for (const name of ["AWS_ACCESS_KEY_ID", "NODE_EXTRA_CA_CERTS", "OTEL_SERVICE_NAME"])
      assert.match(
        await problemOf(await configFile(folder.path, `${name}: x\n`)),
        new RegExp(`^${name}: is not a setting of Holt; set it as a variable of the environment \\(in `, "m"),
      );
  });

  test("a file that is missing or not a map of settings is refused with the reason", async () => {
    await using folder = await temporaryFolder();
    assert.match(await problemOf({ HOLT_CONFIG: join(folder.path, "none.yaml") }), /HOLT_CONFIG: .*none\.yaml" must be .*: ENOENT/);
    for (const [text, reason] of [
      ["- HOLT_LISTEN", /one line `NAME: value`/],
      ["HOLT_LISTEN: [", /not valid YAML/],
      ["HOLT_ORG_NAME: a\nHOLT_ORG_NAME: b", /unique/],
      ["HOLT_ORG_NAME: a\n---\nHOLT_ORG_NAME: b", /more than one YAML document/],
    ] as const)
      assert.match(await problemOf(await configFile(folder.path, text)), reason, text);
  });

  test("an empty file has no settings", async () => {
    await using folder = await temporaryFolder();
    assert.equal((await runHoltd(["config", "check"], await configFile(folder.path, "# nothing\n"))).code, 0);
  });

  test("config print prints every setting once, and no secret in any form", async () => {
    const given = { HOLT_DATABASE_URL: "postgres://holt:very-secret@db.example.com/holt", HOLT_SECRETS_KEY: KEY, HOLT_LISTEN: "nowhere" };
    const { code, stdout, stderr } = await runHoltd(["config", "print"], given);
    const printed = stdout.split("\n").flatMap((line) => line.split(":", 1).filter((name) => name !== ""));
    assert.deepEqual(
      printed,
      Object.values(settings).map(({ env }) => env),
    );
    assert.match(stdout, /^HOLT_DATABASE_URL: "postgres:\/\/\*\*\*@db\.example\.com\/holt" {2}# environment$/m);
    assert.match(stdout, /^HOLT_MAX_SUBSCRIPTIONS: "1000" {2}# default$/m);
    assert.ok(!stdout.includes("very-secret") && !stdout.includes(KEY));
    assert.deepEqual([code, /HOLT_LISTEN: "nowhere" must be/.test(stderr)], [2, true]);
  });

  test("config check reads the certificate that the settings name", async () => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await runHoltd(["config", "check"], { HOLT_TLS_CERT: join(folder.path, "c"), HOLT_TLS_KEY: "k" });
    assert.equal(code, 1);
    assert.match(stderr, /^holtd: cannot use the certificate of HOLT_TLS_CERT .*: ENOENT.*\/c'/);
  });
});
