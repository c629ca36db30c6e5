/** Tests which code the server of a checkout runs: the bundle that `npm ci` makes, or the sources after an edit. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { root } from "../harness/built-program.ts";
import { freePort } from "../harness/free-port.ts";
import { printedToken, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { pushAndRead } from "../harness/push-and-read.ts";

const run = promisify(execFile);

interface Checkout {
  readonly path: string;
  /** The text that the main module prints, "bundle" or "sources". */
  start(env?: Readonly<Record<string, string>>): Promise<string>;
}

/** A checkout with the real way to start, whose only source is its main module. */
async function smallCheckout(folder: string): Promise<Checkout> {
  const server = join(folder, "packages/server");
  for (const name of ["src", "dist"]) await mkdir(join(server, name), { recursive: true });
  await cp(join(root, "packages/server/bin"), join(server, "bin"), { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(server, "src/main.ts"), 'console.log("sources");\n');
  await writeFile(join(server, "dist/holtd.js"), 'console.log("bundle");\n');
  return {
    path: server,
    start: async (env = {}) => (await run(process.execPath, [join(server, "bin/holtd.js")], { env })).stdout.trim(),
  };
}

interface BundleState {
  bundleIsCurrent(): boolean;
  writeBundleState(paths: readonly string[], begun: number): boolean;
}

const stateIn = async (folder: string) => (await import(pathToFileURL(join(folder, "bin/bundle-state.js")).href)) as BundleState;

/** @param begun when the bundle was begun */
async function finishBundle({ path }: Checkout, begun = Number.POSITIVE_INFINITY): Promise<boolean> {
  return (await stateIn(path)).writeBundleState(["packages/server/src/main.ts"], begun);
}

describe("a checkout", () => {
  test("holtd runs the bundle until a source changes or is deleted", async () => {
    await using folder = await temporaryFolder();
    const checkout = await smallCheckout(folder.path);
    await finishBundle(checkout);
    assert.equal(await checkout.start(), "bundle");
    await writeFile(join(checkout.path, "src/main.ts"), 'console.log("changed sources");\n');
    assert.equal(await checkout.start(), "changed sources");
    await finishBundle(checkout);
    assert.equal(await checkout.start(), "bundle");
    await rm(join(checkout.path, "src/main.ts"));
    await assert.rejects(checkout.start(), /Cannot find module .*main\.ts/);
  });

  test("holtd runs the sources while a bundle is not complete, and when Node restarts it after each change", async () => {
    await using folder = await temporaryFolder();
    const checkout = await smallCheckout(folder.path);
    assert.equal(await checkout.start(), "sources");
    await finishBundle(checkout);
    assert.equal(await checkout.start({ WATCH_REPORT_DEPENDENCIES: "1" }), "sources");
  });

  test("a bundle whose sources change while it is made is not run", async () => {
    await using folder = await temporaryFolder();
    const checkout = await smallCheckout(folder.path);
    const { mtimeMs } = await stat(join(checkout.path, "src/main.ts"));
    assert.equal(await finishBundle(checkout, mtimeMs), false);
    assert.equal(await checkout.start(), "sources");
    assert.equal(await finishBundle(checkout, mtimeMs + 1), true);
    assert.equal(await checkout.start(), "bundle");
  });

  test("the server of a checkout finds the files of its pages, and starts its threads", async () => {
    const { bundleIsCurrent } = await stateIn(join(root, "packages/server"));
    // After an edit, no other test runs the bundle.
    if (!bundleIsCurrent()) await run(process.execPath, [join(root, "scripts/build/bundle-checkout.js")]);
    assert.ok(bundleIsCurrent());
    await using folder = await temporaryFolder();
    const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}` };
    await using server = await startHoltd(settings);
    for (const path of [
      "/console/",
      "/docs/swagger-ui-bundle.js",
      "/docs/swagger-ui.css",
      "/docs/manual",
      "/docs/manual/operating",
      "/oauth/passkey.js",
    ])
      assert.equal((await fetch(server.baseUrl + path)).status, 200, path);
    await pushAndRead(server.baseUrl, await printedToken(settings));
    assert.doesNotMatch(server.stderr(), /"level":50/);
  });
});
