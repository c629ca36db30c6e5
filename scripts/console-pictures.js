// Makes the pictures of docs/console.md anew: starts a server, fills the demonstration organization, and photographs
// screens with the Chromium of the tests.
//
//   npm run pictures
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../packages/server/test/harness/free-port.ts";
import { launchChromium } from "../packages/server/test/harness/sign-in/chromium.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(root, "docs/images");
const program = join(root, "packages/server/bin/holtd.js");
/** Small files: the repository keeps each version. */
const JPEG = { type: "jpeg", quality: 60 };
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
  await photograph(page, page.url());
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
  const open = (path) => page.goto(`${home}${path}`);
  const save = async (name) => {
    await page.waitForLoadState("networkidle");
    await page.screenshot({ ...JPEG, path: join(target, `console-${name}.jpg`) });
  };
  await page.getByText("created").first().waitFor();
  await save("home");

  await open("/groups");
  await page.getByRole("treeitem").getByText("web-shop").waitFor();
  await save("groups");

  await open("/new-identity?kind=gitlab");
  await page.getByLabel("Project").fill("acme/shop");
  await page.evaluate("scrollTo(0, 0)");
  await save("wizard");

  await open("/identities");
  await page.getByRole("link", { name: "gitlab-ci" }).click();
  await page.getByRole("tab", { name: "Roles" }).click();
  await page.getByRole("link", { name: "Why may it do something" }).click();
  const identity = await page.getByLabel("Identity").inputValue();
  await page.getByLabel("Where").fill(identity.slice(0, identity.lastIndexOf("/")));
  await page.getByRole("combobox", { name: "Capability" }).fill("repo.list");
  await page.getByRole("option", { name: "repo.list" }).first().click();
  await page.getByText("Allowed", { exact: true }).waitFor();
  await save("explain");

  await open("/subscriptions");
  await page.getByRole("row", { name: /hooks/ }).getByRole("link").first().click();
  await page
    .getByRole("row", { name: /created/ })
    .first()
    .waitFor();
  await save("webhook");

  await open("/repositories");
  await page.getByRole("link", { name: "storefront" }).click();
  await page.getByRole("link", { name: "Contents of 1.0" }).click();
  await page.getByRole("tab", { name: "Vulnerabilities" }).click();
  await page
    .getByRole("row", { name: /openssl/ })
    .first()
    .waitFor();
  await save("image");

  await open("/libraries");
  await page.getByRole("link", { name: "ledger-client" }).click();
  await page.getByRole("row", { name: /loses bookings/ }).waitFor();
  await save("library");

  await open("/advisories");
  await page
    .getByRole("row", { name: /zlib.*1 event/ })
    .getByRole("link")
    .click();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("dialog").getByText("fixed").first().waitFor();
  await save("review");
}
