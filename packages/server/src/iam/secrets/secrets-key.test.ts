import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { openDatabase } from "../../cli/open-installation.ts";
import type { Store } from "../../db/store.ts";
import { createLog } from "../../lib/log.ts";
import { openSecrets } from "./secrets-key.ts";

describe("the secrets key", () => {
  let dataDir: string;
  let store: Store;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "holt-secrets-"));
    store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  });
  const open = (key?: Uint8Array) => openSecrets({ store, dataDir, key });
  const file = () => join(dataDir, "secrets.key");

  test("the secrets key is created in the data folder at the first start, readable only by its owner, and kept", async () => {
    const first = await open();
    const second = await open();
    assert.equal(second.open(first.seal("hush", "a"), "a"), "hush");
    assert.equal((await stat(file())).mode & 0o777, 0o600);
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.startsWith("secrets")),
      ["secrets.key"],
    );
  });

  test("the secrets key is the same for servers that start at the same time", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => open()));
    assert.equal(new Set(all.map(({ fingerprint }) => fingerprint)).size, 1);
  });

  test("the secrets key can come from the settings and is then not written anywhere", async () => {
    const key = randomBytes(32);
    const sealed = (await open(key)).seal("hush", "a");
    assert.equal((await open(key)).open(sealed, "a"), "hush");
    assert.ok(!(await readdir(dataDir)).includes("secrets.key"));
  });

  test("the secrets key can be moved from the file to the settings", async () => {
    const { fingerprint } = await open();
    const key = Buffer.from((await readFile(file(), "utf8")).trim(), "base64");
    await rm(file());
    assert.equal((await open(key)).fingerprint, fingerprint);
  });

  test("prevents the start if it changed or is missing, with an error that says what to do", async () => {
    await open();
    await assert.rejects(open(randomBytes(32)), /HOLT_SECRETS_KEY is not the key they were.*same key.*server_state/s);
    await writeFile(file(), `${randomBytes(32).toString("base64")}\n`);
    await assert.rejects(open(), /secrets\.key is not the key they were/);
    await rm(file());
    await assert.rejects(open(), /there is no key/);
    assert.ok(!(await readdir(dataDir)).includes("secrets.key"), "a new one was made");
  });

  test("the secrets key is not replaced if its file is malformed or unreadable", async () => {
    await writeFile(file(), "nonsense\n");
    await assert.rejects(open(), /does not hold the base64 of 32 bytes/);
    await rm(file());
    await open();
    await chmod(file(), 0o000);
    // Root can read every file.
    if (process.getuid?.() !== 0) await assert.rejects(open(), /cannot read the secrets key/);
  });
});
