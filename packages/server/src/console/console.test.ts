import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createLog } from "../lib/log.ts";
import { filesInFolder } from "../lib/program-files.ts";
import { createConsole } from "./console.ts";

/** Serves the console of a folder. */
async function start(folder: string) {
  const { serve } = createConsole(createLog("silent"), filesInFolder(folder));
  const server = createServer(serve).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    get: (path: string, headers: Record<string, string> = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers }),
    [Symbol.asyncDispose]: async () => void (await new Promise((resolve) => server.close(resolve).closeAllConnections())),
  };
}

describe("the files of the console", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "holt-console-"));
    await mkdir(join(folder, "assets"));
    await writeFile(join(folder, "index.html"), '<link nonce="CSP_NONCE"><script nonce="CSP_NONCE"></script>');
    for (const [suffix, text] of [
      ["", "plain"],
      [".gz", "gzipped"],
      [".br", "brotli"],
    ])
      await writeFile(join(folder, `assets/app-1.js${suffix}`), text ?? "");
    await writeFile(join(folder, "assets/secret.txt"), "secret");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test("every screen gets the page with a nonce of its own, which is never cached", async () => {
    await using server = await start(folder);
    const answers = await Promise.all(["/console", "/console/", "/console/abc/groups?x=1"].map((path) => server.get(path)));
    const nonces = answers.map(({ headers }) => /'nonce-([^']+)'/.exec(headers.get("content-security-policy") ?? "")?.[1] ?? "");
    assert.equal(new Set(nonces).size, 3);
    for (const [index, answer] of answers.entries()) {
      assert.equal(answer.headers.get("cache-control"), "no-store");
      assert.equal((await answer.text()).split(nonces[index] ?? "").length, 3);
    }
  });

  test("assets are compressed by the build and cached for a year, and other files are not served", async () => {
    await using server = await start(folder);
    const plain = await server.get("/console/assets/app-1.js", { "accept-encoding": "identity" });
    assert.equal(await plain.text(), "plain");
    assert.equal(plain.headers.get("cache-control"), "public, max-age=31536000, immutable");
    for (const name of ["app-1.js.gz", "secret.txt", "..%2findex.html", "missing.js"])
      assert.equal((await server.get(`/console/assets/${name}`)).status, 404, name);
  });

  test("a server without a build says how to make one", async () => {
    await using server = await start(join(folder, "missing"));
    const answer = await server.get("/console/");
    assert.equal(answer.status, 503);
    assert.match(await answer.text(), /npm run build -w packages\/console/);
  });
});
