/** Tests the single executable, which is server and command line without Node and without packages. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  builtProgram,
  MACHINE_NODE,
  removeBuiltProgram,
  runBuilt,
  runBuiltProcesses,
  runScript,
  startBuilt,
} from "../harness/built-program.ts";
import { findProgram } from "../harness/has-program.ts";
import { get, temporaryFolder } from "../harness/holtd.ts";
import { pushAndRead } from "../harness/push-and-read.ts";

/** Node looks for a program in its own file if a one follows. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

describe("the single executable", { skip: process.platform === "linux" ? false : "made for Linux only" }, () => {
  let folder = "";
  let holtd = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "holt-executable-"));
    holtd = join(folder, "release/holtd");
    const dist = join(await builtProgram(), "dist");
    // As an operator calls it, in a fresh checkout.
    await runScript("build-executable.js", ["--dist", dist, holtd], {}, MACHINE_NODE);
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await removeBuiltProgram();
  });

  test("the executable serves everything without a Node on the path, and is the command line by another name", async () => {
    await using scratch = await temporaryFolder();
    await using server = await startBuilt(holtd, join(scratch.path, "data"), "/nonexistent");
    const token = (await runBuilt(holtd, ["token"], server.env)).trim();
    const { json } = await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
    assert.equal((json as { groups: { name: string }[] }).groups[0]?.name, "my-org");
    for (const path of ["/console/", "/docs/swagger-ui-bundle.js", "/oauth/passkey.js", "/openapi.json", "/readyz"])
      assert.equal((await fetch(server.baseUrl + path)).status, 200, path);
    const [script] = /\/console\/assets\/[\w-]+\.js/.exec(await (await fetch(`${server.baseUrl}/console/`)).text()) ?? [];
    assert.equal((await fetch(`${server.baseUrl}${script}`)).status, 200, script);

    await symlink("release/holtd", join(folder, "holt"));
    const env = { ...server.env, HOME: scratch.path, HOLT_URL: server.baseUrl };
    const data = ["--bootstrap", "--data-dir", join(scratch.path, "data")];
    await runBuilt(join(folder, "holt"), ["login", server.baseUrl, ...data], env);
    assert.match(await runBuilt(join(folder, "holt"), ["iam", "groups", "list", "-o", "csv"], env), /\nmy-org,/);
    const args = ["api", "GET", "/iam/v2/groups?name=my-org", "--jq", ".groups[0].name"];
    assert.equal(await runBuilt(join(folder, "holt"), args, env), "my-org\n");
  });

  test("threads of the executable parse what callers upload, and SIGTERM stops it", async () => {
    await using scratch = await temporaryFolder();
    await using server = await startBuilt(holtd, join(scratch.path, "data"), "/nonexistent");
    await pushAndRead(server.baseUrl, (await runBuilt(holtd, ["token"], server.env)).trim());
    assert.doesNotMatch(server.stderr(), /"level":50/);
    server.kill("SIGTERM");
    assert.equal((await server.ended).code, 0);
  });

  test("the executable for arm64 is a program of that architecture with this program inside", async (context) => {
    const other = join(folder, "holtd-arm64");
    const dist = join(await builtProgram(), "dist");
    const build = ["--arch", "arm64", "--dist", dist];
    await assert.rejects(runScript("build-executable.js", [...build, "--node", "/bin/sh", other]), /is not a program of Linux on arm64/);
    try {
      await runScript("build-executable.js", [...build, other], { npm_config_fetch_retries: "0", npm_config_fetch_timeout: "60000" });
    } catch (error) {
      if (/Command failed: npm pack/.test(String(error))) return context.skip("npm cannot fetch the Node for arm64");
      throw error;
    }
    const bytes = await readFile(other);
    assert.equal(bytes.readUInt16LE(18), 183, "the machine of the ELF file");
    assert.ok(bytes.includes(`${FUSE}:1`), "Node does not look for the program in its file");
    const embedded = bytes.subarray(bytes.lastIndexOf("NODE_SEA_BLOB"));
    for (const file of ["lib/holtd.js", "lib/holt.js"]) assert.ok(embedded.includes(await readFile(join(dist, file))), file);
    const [emulator, libraries] = [findProgram("qemu-aarch64-static"), process.env.HOLT_TEST_ARM64_ROOT];
    if (emulator === undefined || libraries === undefined) return;
    assert.match(await runBuilt(emulator, ["-L", libraries, other, "--version"], {}), /^\d+\.\d+\.\d+\n$/);
  });

  test("the executable runs several server processes, and stops them", async () => {
    await using scratch = await temporaryFolder();
    const log = await runBuiltProcesses(holtd, join(scratch.path, "data"), "/nonexistent");
    for (const number of [1, 2]) assert.match(log, new RegExp(`"process":${number},"msg":"stopped"`));
  });
});
