import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { domains } from "./domains.ts";

test("every file in a domain's migrations folder is listed in the domain's module", () => {
  for (const { name, migrations } of domains) {
    const folder = new URL(`./${name}/migrations/`, import.meta.url);
    const files = existsSync(folder) ? readdirSync(folder).filter((file) => !file.endsWith(".test.ts")) : [];
    const versions = files.map((file) => Number.parseInt(file, 10)).sort((a, b) => a - b);
    assert.deepEqual(
      migrations.map(({ version }) => version).sort((a, b) => a - b),
      versions,
      name,
    );
  }
});
