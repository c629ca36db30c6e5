import assert from "node:assert/strict";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createDnsQuery } from "./dns-query.ts";

test("names of the hosts file are left to the system's resolver, also after the file has changed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hosts-"));
  try {
    const path = join(folder, "hosts");
    await writeFile(path, "# a comment\n127.0.0.1 localhost one.test One-Alias.test # two.test\n");
    const query = createDnsQuery(path);
    for (const name of ["localhost", "one.test", "ONE-alias.test"])
      assert.deepEqual(await query(name), { addresses: [], isAnswered: true }, name);
    await writeFile(path, "127.0.0.1 two.test\n");
    await utimes(path, new Date(1), new Date(1));
    assert.deepEqual(await query("two.test"), { addresses: [], isAnswered: true });
  } finally {
    await rm(folder, { recursive: true });
  }
});
