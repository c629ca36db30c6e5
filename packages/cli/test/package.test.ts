/** The package as users install it, outside of the workspace. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { startWorld } from "../../server/test/harness/world.ts";

const run = promisify(execFile);
const cli = join(import.meta.dirname, "..");

test("the built package runs without the workspace and without TypeScript", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holt-package-"));
  try {
    const plain = { ...process.env, NODE_OPTIONS: "" };
    const dist = join(folder, "node_modules/@holt/cli");
    await run(process.execPath, [join(cli, "build.js"), dist], { env: plain });
    await mkdir(join(folder, "node_modules"), { recursive: true });
    await symlink(join(cli, "../../node_modules/jq-wasm"), join(folder, "node_modules/jq-wasm"));
    await using world = await startWorld();
    const env = { PATH: process.env.PATH ?? "", HOME: folder, HOLT_URL: world.baseUrl, HOLT_TOKEN: world.token };
    const holt = async (...args: string[]) =>
      (await run(process.execPath, ["--no-experimental-strip-types", join(dist, "bin/holt.js"), ...args], { env, cwd: folder })).stdout;
    assert.match(await holt("--version"), /^\d+\.\d+\.\d+\n$/);
    assert.match(await holt("--help"), /^Usage: holt COMMAND/);
    assert.equal(
      await holt("iam", "groups", "list", "-o", "csv", "--name", "my-org").then((text) => text.split("\r\n")[1]?.split(",")[0]),
      "my-org",
    );
    assert.equal(await holt("api", "GET", "/iam/v2/groups?name=my-org", "--jq", ".groups[0].name"), "my-org\n");
    const refusal = await holt("iam", "groups", "get", "0".repeat(40)).catch((error: { code: number }) => error);
    assert.equal((refusal as { code: number }).code, 5);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
