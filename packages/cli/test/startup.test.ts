/** The cost of starting holt: the modules that a command loads, and the CPU time of the built program. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { PROGRAM } from "./harness.ts";

const run = promisify(execFile);
/** The program may take this many times the CPU time of the least Node program that does the same. */
const MAX_TIMES = 2.5;
const LEAST_RUNS = 7;
/** Other work on the machine only adds to the CPU time of a run, so one cheap run proves what the program needs. */
const MAX_RUNS = 40;

describe("the start of holt", () => {
  let folder: string;
  let preload: string;
  let measure: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "holt-start-"));
    preload = join(folder, "preload.mjs");
    measure = join(folder, "measure.mjs");
    const record = "const urls = []; registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });";
    const write = "process.on('exit', () => writeFileSync(process.env.LOADED, urls.join('\\n')));";
    await writeFile(preload, `import { registerHooks } from "node:module"; import { writeFileSync } from "node:fs"; ${record} ${write}`);
    const report = "const { user, system } = process.cpuUsage(); writeFileSync(process.env.LOADED, String((user + system) / 1000));";
    await writeFile(measure, `import { writeFileSync } from "node:fs"; process.on('exit', () => { ${report} });`);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const environment = () => ({
    PATH: process.env.PATH ?? "",
    HOME: folder,
    LOADED: join(folder, "loaded"),
    HOLT_URL: "http://127.0.0.1:9",
  });

  /** Paths of the modules that a command loads, without those of Node. */
  async function modulesOf(...args: string[]): Promise<string[]> {
    spawnSync(process.execPath, ["--import", pathToFileURL(preload).href, PROGRAM, ...args], { env: environment() });
    const urls = (await readFile(join(folder, "loaded"), "utf8")).split("\n");
    return urls.filter((url) => url.startsWith("file:")).map((url) => url.replace(/^.*\/(?=packages\/|node_modules\/)/, ""));
  }

  test("--version loads the program and its version, and nothing else", async () => {
    assert.deepEqual(
      await modulesOf("--version"),
      ["bin/holt.js", "src/main.ts", "src/version.ts", "package.json"].map((path) => `packages/cli/${path}`),
    );
  });

  test("completion of words loads neither the parser nor the client", async () => {
    const loaded = await modulesOf("__complete", "iam", "gro");
    assert.ok(loaded.includes("packages/cli/src/completion/complete.ts"));
    for (const path of loaded) assert.match(path, /^packages\/cli\//);
    assert.ok(loaded.length < 10, loaded.join("\n"));
  });

  test("a command loads its own module alone, and no messages of the contract before a call fails", async () => {
    const loaded = await modulesOf("context", "list");
    assert.deepEqual(
      loaded.filter((path) => path.startsWith("packages/cli/src/commands/")),
      ["packages/cli/src/commands/index.ts", "packages/cli/src/commands/context-list.ts"],
    );
    for (const path of loaded) assert.doesNotMatch(path, /@bufbuild|@connectrpc|packages\/api|jose|yaml|jq-wasm/);
  });

  test("the built program takes at most 2.5 times the CPU time of the least Node program that does the same", async () => {
    const dist = join(folder, "dist");
    await run(process.execPath, [join(PROGRAM, "../../build.js"), dist], { env: { ...process.env, NODE_OPTIONS: "" } });
    const program = join(dist, "bin/holt.js");
    await using server = await startGroups();
    const env = { ...environment(), HOLT_URL: server.url, HOLT_TOKEN: "t", HOLT_COMPLETION_TIMEOUT: "60s" };
    let stdout = "";
    const cpuOf = async (args: readonly string[]) => {
      ({ stdout } = await run(process.execPath, ["--import", pathToFileURL(measure).href, ...args], { env }));
      return Number(await readFile(join(folder, "loaded"), "utf8"));
    };
    const request = `fetch("${server.url}").then((answer) => answer.text())`;
    for (const [least, ...args] of [
      ["0", "--version"],
      ["0", "__complete", "iam", "gro"],
      [request, "__complete", "iam", "groups", "get", "te"],
    ] as const) {
      let max = Number.POSITIVE_INFINITY;
      for (let i = 0; i < LEAST_RUNS; i++) max = Math.min(max, MAX_TIMES * (await cpuOf(["-e", least])));
      let cpu = Number.POSITIVE_INFINITY;
      for (let i = 0; i < MAX_RUNS && cpu >= max; i++) cpu = Math.min(cpu, await cpuOf([program, ...args]));
      assert.ok(cpu < max, `holt ${args.join(" ")} takes ${Math.round(cpu)} ms of CPU time, and at most ${Math.round(max)} are allowed`);
    }
    assert.equal(stdout, "team\tgroup\n");
  });
});

/** A server whose every answer is a list of one group. */
async function startGroups() {
  const server = createServer((_request, response) => response.end('{"groups":[{"name":"team"}]}')).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}
