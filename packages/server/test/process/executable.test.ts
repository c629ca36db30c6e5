/** Tests the single executable, which is server and command line without Node and without packages. */
import assert from "node:assert/strict";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { builtProgram, removeBuiltProgram, runBuilt, runBuiltProcesses, runScript, startBuilt } from "../harness/built-program.ts";
import { get, temporaryFolder } from "../harness/holtd.ts";
import { pushAndRead } from "../harness/push-and-read.ts";

describe("the single executable", { skip: process.platform === "linux" ? false : "made for Linux only" }, () => {
  let folder = "";
  let holtd = "";
  const make = async (output: string) => await runScript("build-executable.js", ["--dist", join(await builtProgram(), "dist"), output]);
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "holt-executable-"));
    holtd = join(folder, "holtd");
    await make(holtd);
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

    await symlink("holtd", join(folder, "holt"));
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

  test("the executable runs several server processes, and stops them", async () => {
    await using scratch = await temporaryFolder();
    const log = await runBuiltProcesses(holtd, join(scratch.path, "data"), "/nonexistent");
    for (const number of [1, 2]) assert.match(log, new RegExp(`"process":${number},"msg":"stopped"`));
  });
});
