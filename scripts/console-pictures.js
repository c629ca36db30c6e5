// Makes the pictures of docs/console.md anew: starts a server, fills the demonstration organization, and photographs
// each screen with the Chromium of the tests.
//
//   npm run pictures
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../packages/server/test/harness/free-port.ts";
import { launchChromium } from "../packages/server/test/harness/sign-in/chromium.ts";
import { fillTheRest, pictures } from "./console-screens.js";
import { createApi } from "./demo/api.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(root, "docs/images");
const program = join(root, "packages/server/bin/holtd.js");
/** Small files: the repository keeps each version. */
const IMAGE = { format: "webp", quality: 50 };
const SIZE = { width: 1120, height: 640 };

const dataDir = await mkdtemp(join(tmpdir(), "holt-pictures-"));
const address = `127.0.0.1:${await freePort()}`;
const baseUrl = `http://${address}`;
const env = { ...process.env, HOLT_LOG_LEVEL: "warn", HOLT_DATA_DIR: dataDir, HOLT_LISTEN: address, HOLT_BASE_URL: baseUrl };
const server = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
const chromium = await launchChromium();
try {
  if (chromium === undefined) throw new Error("Chromium does not start on this machine");
  await printed(server, /console\/sign-in#/);
  const run = (...args) => execFileSync(process.execPath, args, { env, encoding: "utf8" });
  console.log(run(join(root, "scripts/demo/demo.js")));
  const page = await (await chromium.newContext({ viewport: SIZE, reducedMotion: "reduce" })).newPage();
  await page.goto(run(program, "token", "--link").match(/http\S+/)[0]);
  await page.getByRole("link", { name: "demo", exact: true }).click();
  await page.getByRole("heading", { name: "demo" }).waitFor();
  const home = page.url();
  await fillTheRest(createApi(baseUrl, run(program, "token").trim()), new URL(home).pathname.split("/")[2]);
  await photograph(page, home);
} finally {
  await chromium?.close();
  const ended = once(server, "exit");
  server.kill();
  await ended;
  await rm(dataDir, { recursive: true });
}

/** Resolves with the first line that matches. */
async function printed(child, pattern) {
  for await (const line of createInterface({ input: child.stdout })) {
    if (!pattern.test(line)) continue;
    child.stdout.resume();
    return line;
  }
  throw new Error("the server ended before it was ready");
}

async function photograph(page, home) {
  await mkdir(target, { recursive: true });
  const devtools = await page.context().newCDPSession(page);
  const open = (path) => page.goto(`${home}${path}`);
  const follow = async (path, name) => {
    await open(path);
    await page.getByRole("main").getByRole("link", { name, exact: true }).first().click();
  };
  for (const [name, visit] of Object.entries(pictures)) {
    await visit({ page, open, follow });
    await page.locator("main h1").first().waitFor();
    await page.waitForLoadState("networkidle");
    await page.getByLabel("Loading").first().waitFor({ state: "detached" });
    const { data } = await devtools.send("Page.captureScreenshot", IMAGE);
    await writeFile(join(target, `console-${name}.webp`), Buffer.from(data, "base64"));
  }
}
