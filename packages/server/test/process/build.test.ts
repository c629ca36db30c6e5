/** Tests the program that operators install: it runs outside of the repository, without packages and without compiling. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { builtProgram, removeBuiltProgram, runBuilt, runBuiltProcesses, runScript, startBuilt } from "../harness/built-program.ts";
import { get, temporaryFolder } from "../harness/holtd.ts";
import { pushAndRead } from "../harness/push-and-read.ts";
import { until } from "../harness/wait.ts";

/** Path → digest of each file. */
async function digestsOf(folder: string): Promise<Record<string, string>> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const digests = files.map(async ({ parentPath, name }) => {
    const path = join(parentPath, name);
    return [
      relative(folder, path),
      createHash("sha256")
        .update(await readFile(path))
        .digest("hex"),
    ] as const;
  });
  return Object.fromEntries((await Promise.all(digests)).sort());
}

describe("the built program", () => {
  let dist = "";
  before(async () => {
    dist = join(await builtProgram(), "dist");
  });
  after(removeBuiltProgram);

  test("the built server serves the API, the console, its pages and threads, and the built command line calls it", async () => {
    await using folder = await temporaryFolder();
    await using server = await startBuilt(join(dist, "bin/holtd"), join(folder.path, "data"));
    const token = (await runBuilt(join(dist, "bin/holtd"), ["token"], server.env)).trim();
    const { json } = await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
    const [org] = (json as { groups: { uid: string; name: string }[] }).groups;
    assert.equal(org?.name, "my-org");
    for (const path of ["/console/", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/oauth/passkey.js", "/openapi.json", "/readyz"])
      assert.equal((await fetch(server.baseUrl + path)).status, 200, path);
    const [script] = /\/console\/assets\/[\w-]+\.js/.exec(await (await fetch(`${server.baseUrl}/console/`)).text()) ?? [];
    assert.equal((await fetch(`${server.baseUrl}${script}`)).status, 200, script);

    const env = { ...server.env, HOME: folder.path, HOLT_URL: server.baseUrl, HOLT_TOKEN: token };
    const holt = (...args: string[]) => runBuilt(join(dist, "bin/holt"), args, env);
    assert.match(await holt("iam", "groups", "list", "-o", "csv"), /\nmy-org,/);
    assert.equal(await holt("api", "GET", "/iam/v2/groups?name=my-org", "--jq", ".groups[0].name"), "my-org\n");
    assert.match(await holt("iam", "groups", "create", "--help"), /^Usage: holt iam groups create/);
    assert.match(server.stdout(), new RegExp(`TOKEN=\\$\\(.*${join(dist, "bin/holtd")} token\\)`));
  });

  test("the built server parses what callers upload on its threads, and takes pushes of images", async () => {
    await using folder = await temporaryFolder();
    await using server = await startBuilt(join(dist, "bin/holtd"), join(folder.path, "data"));
    await pushAndRead(server.baseUrl, (await runBuilt(join(dist, "bin/holtd"), ["token"], server.env)).trim());
    assert.doesNotMatch(server.stderr(), /"level":50/);
  });

  test("the built server runs as several processes, and stops them", async () => {
    await using folder = await temporaryFolder();
    const log = await runBuiltProcesses(join(dist, "bin/holtd"), join(folder.path, "data"));
    for (const number of [1, 2]) assert.match(log, new RegExp(`"process":${number},"msg":"stopped"`));
  });

  test("the command line signs in with the data of a server beside it, also through a symbolic link", async () => {
    await using folder = await temporaryFolder();
    await using server = await startBuilt(join(dist, "bin/holtd"), join(folder.path, "data"));
    await symlink(join(dist, "bin/holt"), join(folder.path, "holt"));
    const env = { ...server.env, HOME: folder.path };
    const args = ["login", server.baseUrl, "--bootstrap", "--data-dir", join(folder.path, "data")];
    await runBuilt(join(folder.path, "holt"), args, env);
    assert.match(await runBuilt(join(folder.path, "holt"), ["iam", "groups", "list", "-o", "csv"], env), /\nmy-org,/);
  });

  test("each chunk has a source map with the places of its sources in the repository", async () => {
    const lib = join(dist, "lib");
    const chunks = (await readdir(lib)).filter((name) => name.endsWith(".js"));
    assert.ok(chunks.length > 20);
    const sources = new Set<string>();
    for (const name of chunks) {
      const map = JSON.parse(await readFile(join(lib, `${name}.map`), "utf8")) as { sources: string[] };
      for (const source of map.sources) sources.add(source);
    }
    assert.ok(sources.has("packages/server/src/serve.ts") && sources.has("packages/cli/src/main.ts"));
    for (const source of sources) assert.doesNotMatch(source, /^(\/|\.\.)/);
  });

  test("no chunk of the server has characters beyond Latin-1, which would double the memory of its source", async () => {
    const lib = join(dist, "lib");
    for (const name of (await readdir(lib)).filter((file) => file.endsWith(".js"))) {
      const { sources } = JSON.parse(await readFile(join(lib, `${name}.map`), "utf8")) as { sources: string[] };
      if (!sources.some((source) => source.startsWith("packages/server/src/"))) continue;
      const [wide] = /.{0,40}[^\0-\xff].{0,20}/.exec(await readFile(join(lib, name), "utf8")) ?? [];
      assert.equal(wide, undefined, name);
    }
  });

  test("a start of the built server does not load Node's copy of undici, which takes a tenth of its CPU time", async () => {
    await using folder = await temporaryFolder();
    const atEnd = 'process.on("exit", () => console.error(process.moduleLoadList.join("\\n")))';
    const settings = { NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(atEnd)}"` };
    await using server = await startBuilt(join(dist, "bin/holtd"), join(folder.path, "data"), undefined, settings);
    server.kill("SIGTERM");
    await server.ended;
    const modules = server.stderr().split("\n");
    assert.ok(modules.includes("NativeModule http"));
    assert.ok(!modules.includes("NativeModule internal/deps/undici/undici"));
  });

  test("the built server gives the memory of its start back", { skip: process.platform !== "linux" }, async () => {
    await using folder = await temporaryFolder();
    await using server = await startBuilt(join(dist, "bin/holtd"), join(folder.path, "data"));
    const kilobytesOf = (status: string, name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]);
    await until(async () => {
      const status = await readFile(`/proc/${server.pid}/status`, "utf8");
      return kilobytesOf(status, "VmHWM") - kilobytesOf(status, "VmRSS") > 4_000;
    });
  });

  test("two builds of one commit have the same bytes, wherever they are", async () => {
    await using folder = await temporaryFolder();
    await runScript("build.js", [join(folder.path, "deep/er/dist")]);
    const [one, other] = await Promise.all([digestsOf(dist), digestsOf(join(folder.path, "deep/er/dist"))]);
    // The cache of a start is not a part of the build.
    const built = Object.fromEntries(Object.entries(one).filter(([name]) => !name.startsWith(".cache/")));
    assert.deepEqual(other, built);
  });

  test("the build has no packages, but their licenses and two bills of materials that list them", async () => {
    assert.ok(!existsSync(join(dist, "node_modules")));
    const spdx = JSON.parse(await readFile(join(dist, "holt.spdx.json"), "utf8")) as { spdxVersion: string; packages: { name: string }[] };
    const cycloneDx = JSON.parse(await readFile(join(dist, "holt.cdx.json"), "utf8")) as {
      bomFormat: string;
      components: { name: string }[];
    };
    assert.deepEqual([spdx.spdxVersion, cycloneDx.bomFormat], ["SPDX-2.3", "CycloneDX"]);
    const licenses = await readFile(join(dist, "THIRD-PARTY-LICENSES.txt"), "utf8");
    for (const name of ["kysely", "pg", "react", "commander"]) {
      for (const list of [spdx.packages, cycloneDx.components])
        assert.ok(
          list.some((entry) => entry.name === name),
          name,
        );
      assert.match(licenses, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
    }
    assert.ok(!cycloneDx.components.some(({ name }) => name === "playwright-core"));
  });
});
