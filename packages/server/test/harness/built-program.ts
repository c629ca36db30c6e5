/** Builds the program that operators install, once for all tests of a file, and starts it outside of the repository. */
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { type Process, type Settings, startProgram, untilReady } from "./holtd.ts";
import { metricsAddress, metricValue } from "./metrics.ts";
import { createMigratedDatabase } from "./migrated-database.ts";
import { until, within } from "./wait.ts";

const run = promisify(execFile);
export const root = join(import.meta.dirname, "../../../..");
/** The build must not inherit the options of the test runner. */
const plain = { ...process.env, NODE_OPTIONS: "" };
/** Where `env` finds the Node of the tests. */
const NODE_FOLDER = dirname(realpathSync(process.execPath));
let folder: Promise<string> | undefined;

/** A folder that is deleted when the tests of this process end, with the built program in `dist`. */
export function builtProgram(): Promise<string> {
  folder ??= build();
  return folder;
}

export async function removeBuiltProgram(): Promise<void> {
  if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
}

/** The Node of the machine, which may be older than the project's; the project's if there is none. */
export const MACHINE_NODE =
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((path) => !path.includes("node_modules"))
    .map((path) => join(path, "node"))
    .find((path) => existsSync(path)) ?? process.execPath;

/** @param script below `scripts` */
export async function runScript(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  node = process.execPath,
): Promise<string> {
  const { stdout } = await run(node, [join(root, "scripts", script), ...args], { env: { ...plain, ...env }, cwd: root });
  return stdout;
}

async function build(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "holt-built-"));
  await runScript("build.js", [join(path, "dist")]);
  return path;
}

export interface BuiltServer extends Process {
  readonly baseUrl: string;
  /** The settings with which its commands find it. */
  readonly env: Readonly<Record<string, string>>;
}

/** @param program path of `holtd` @param settings in addition to those of all tests */
export async function startBuilt(
  program: string,
  dataDir: string,
  path = `${NODE_FOLDER}:/usr/bin:/bin`,
  settings: Settings = {},
): Promise<BuiltServer> {
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { PATH: path, HOLT_LISTEN: listen, HOLT_DATA_DIR: dataDir, HOLT_LOG_LEVEL: "warn", ...settings };
  const server = startProgram(program, [], env);
  await untilReady(server);
  return { ...server, baseUrl: `http://${listen}`, env };
}

/** Starts two server processes with HOLT_PROCESSES, waits until both serve, and stops them. @returns the log of all */
export async function runBuiltProcesses(program: string, dataDir: string, path?: string): Promise<string> {
  const metrics = await metricsAddress();
  await using server = await startBuilt(program, dataDir, path, {
    ...{ HOLT_PROCESSES: "2", HOLT_DATABASE_URL: await createMigratedDatabase(), HOLT_METRICS_LISTEN: metrics.listen },
    HOLT_LOG_LEVEL: "info",
  });
  await until(async () => metricValue(await metrics.scrape(), "holt_processes_serving") === 2);
  server.kill("SIGTERM");
  const { code, stderr } = await within(server.ended, () => "did not end");
  if (code !== 0) throw new Error(`holtd ended with ${code}:\n${stderr}`);
  return stderr;
}

/** Runs a command of the built program in an empty folder. @returns its standard output */
export async function runBuilt(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await run(program, [...args], { env, cwd: env.HOME ?? tmpdir() });
  return stdout;
}
