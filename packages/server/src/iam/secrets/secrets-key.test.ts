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

describe("the key of secrets", () => {
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

  test("is made in the data folder at the first start, for nobody else to read, and stays", async () => {
    const first = await open();
    const second = await open();
    assert.equal(second.open(first.seal("hush", "a"), "a"), "hush");
    assert.equal((await stat(file())).mode & 0o777, 0o600);
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.startsWith("secrets")),
      ["secrets.key"],
    );
  });

  test("is the same for servers that start at once", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => open()));
    assert.equal(new Set(all.map(({ fingerprint }) => fingerprint)).size, 1);
  });

  test("may be given, and is not written anywhere then", async () => {
    const key = randomBytes(32);
    const sealed = (await open(key)).seal("hush", "a");
    assert.equal((await open(key)).open(sealed, "a"), "hush");
    assert.ok(!(await readdir(dataDir)).includes("secrets.key"));
  });

  test("may be the one from the file, given", async () => {
    const { fingerprint } = await open();
    const key = Buffer.from((await readFile(file(), "utf8")).trim(), "base64");
    await rm(file());
    assert.equal((await open(key)).fingerprint, fingerprint);
  });

  test("that is another one than before, or gone, refuses the start and says what to do", async () => {
    await open();
    await assert.rejects(open(randomBytes(32)), /HOLT_SECRETS_KEY is not their key.*same key.*server_state/s);
    await writeFile(file(), `${randomBytes(32).toString("base64")}\n`);
    await assert.rejects(open(), /secrets\.key is not their key/);
    await rm(file());
    await assert.rejects(open(), /there is no key/);
    assert.ok(!(await readdir(dataDir)).includes("secrets.key"), "a new one was made");
  });

  test("whose file is broken or cannot be read is not replaced", async () => {
    await writeFile(file(), "nonsense\n");
    await assert.rejects(open(), /does not hold the base64 of 32 bytes/);
    await rm(file());
    await open();
    await chmod(file(), 0o000);
    // Root reads what it likes.
    if (process.getuid?.() !== 0) await assert.rejects(open(), /cannot read the key of secrets/);
  });
});
