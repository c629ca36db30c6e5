/** Runs the shell blocks of README, docs/ and examples/ in the order of a reader, against one fresh server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { advisoryYaml } from "../harness/advisories/remote-client.ts";
import { isInstalled, readShellBlocks, type ScriptOptions, type ShellBlock, scriptOf } from "../harness/documents/shell-blocks.ts";
import { freePort } from "../harness/free-port.ts";
import { printedToken, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { createRegistryClient } from "../harness/registry/registry-client.ts";
import { startWebhookReceiver } from "../harness/webhook-receiver.ts";

const ROOT = join(import.meta.dirname, "../../../..");
/** Files of the checkout that the documented commands use. The commands create all other files that they name. */
const USED = ["package.json", "node_modules", "packages", "examples", "scripts"];
const CLIENT = "holt";

const isRunnable = isInstalled("bash") && isInstalled("curl") && isInstalled("jq");

describe("the shell blocks of the documents", { skip: isRunnable ? false : "bash, curl and jq are needed" }, () => {
  const stack = new AsyncDisposableStack();
  let folder: string;
  let env: Readonly<Record<string, string>>;
  let options: ScriptOptions;

  before(async () => {
    folder = stack.use(await temporaryFolder()).path;
    for (const name of USED) await symlink(join(ROOT, name), join(folder, name));
    await mkdir(join(folder, "home"));
    const issuer = stack.use(await startIssuer());
    const receiver = stack.use(await startWebhookReceiver());
    const [port, receiverPort] = [await freePort(), await freePort()];
    const settings = {
      HOLT_LISTEN: `127.0.0.1:${port}`,
      HOLT_USER_ISSUERS: issuer.issuer,
      HOLT_USER_CLIENT_IDS: CLIENT,
      HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    };
    const dataDir = join(folder, "data");
    const server = stack.use(await startHoltd({ ...settings, HOLT_DATA_DIR: dataDir }));
    const person = { sub: "ann", aud: CLIENT, email: "ann@example.com", email_verified: true };
    options = {
      placeholders: {
        YOUR_ID_TOKEN: await issuer.sign(person),
        YOUR_ISSUER: issuer.issuer,
        YOUR_CLIENT_SECRET: "secret",
        YOUR_WEBHOOK_URL: receiver.url,
        YOUR_FEED_URL: await startFeed(stack),
      },
      replacements: {
        "127.0.0.1:8080": `127.0.0.1:${port}`,
        "127.0.0.1:9000": `127.0.0.1:${receiverPort}`,
        "PORT=9000": `PORT=${receiverPort}`,
      },
    };
    env = { PATH: process.env.PATH ?? "", HOME: join(folder, "home"), HOLT_CREDENTIAL_STORE: "file", ...settings };
    await run("README.md", { exportsTo: "first-steps" });
    await pushFirstImage(server.baseUrl, await printedToken({ ...settings, HOLT_DATA_DIR: dataDir }));
  });
  after(() => stack.disposeAsync());

  /** Runs the blocks of a page in one shell. @returns what the page printed */
  async function run(page: string, { exportsTo }: { exportsTo?: string } = {}): Promise<string> {
    const blocks = readShellBlocks(await readFile(join(ROOT, page), "utf8")).filter(isRun);
    const start = exportsTo === undefined ? '. "$HOME/first-steps"\n' : "";
    const end = exportsTo === undefined ? "" : `export -p > "$HOME/${exportsTo}"\n`;
    await writeFile(join(folder, "page.sh"), `${start}${scriptOf(blocks, options)}${end}`);
    const child = spawn("bash", ["page.sh"], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const [code] = (await once(child, "close")) as [number | null];
    assert.equal(code, 0, `${page}:\n${output.slice(-4000)}`);
    return output;
  }

  /** The pages go on with the image of README's last part, which needs podman. */
  async function pushFirstImage(baseUrl: string, token: string): Promise<void> {
    using registry = createRegistryClient(baseUrl, `Bearer ${token}`);
    await registry.image("my-org/team-a/hello", "1.0");
  }

  it("the first steps of the README leave variables that the other pages use", async () => {
    const saved = await readFile(join(folder, "home", "first-steps"), "utf8");
    for (const name of ["API", "TOKEN", "ORG", "FOLDER", "BUILD", "VIEWER"])
      assert.match(saved, new RegExp(`^declare -x ${name}="?[^"]`, "m"));
  });

  it("every shell block of docs/ and examples/ works after the first steps of the README", async (t) => {
    const pages = (await readdir(join(ROOT, "docs"))).filter((name) => name.endsWith(".md")).sort();
    for (const page of [...pages.map((name) => `docs/${name}`), "examples/README.md"])
      await t.test(`the shell blocks of ${page} work`, () => run(page).then(() => {}));
  });
});

/** Skips blocks whose programs are missing. */
function isRun({ isSkipped, needs }: ShellBlock): boolean {
  return !isSkipped && needs.every(isInstalled);
}

/** A feed of one advisory, as somebody's own server has it. */
async function startFeed(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((_request, response) => response.end(advisoryYaml("zlib")));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  stack.defer(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.yaml`;
}
