/** Builds the program that operators install, once for all tests of a file, and starts it outside of the repository. */
import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { type Process, startProgram, untilReady } from "./holtd.ts";

const run = promisify(execFile);
export const root = join(import.meta.dirname, "../../../..");
/** The build must not inherit the options of the test runner. */
const plain = { ...process.env, NODE_OPTIONS: "" };
/** Where `env` finds the Node of the tests. */
export const NODE_FOLDER = dirname(realpathSync(process.execPath));
let folder: Promise<string> | undefined;

/** A folder that is deleted when the tests of this process end, with the built program in `dist`. */
export function builtProgram(): Promise<string> {
  folder ??= build();
  return folder;
}

export async function removeBuiltProgram(): Promise<void> {
  if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
}

/** @param script below `scripts` */
export async function runScript(script: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, "scripts", script), ...args], { env: { ...plain, ...env }, cwd: root });
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

/** @param program path of `holtd` */
export async function startBuilt(program: string, dataDir: string, path = `${NODE_FOLDER}:/usr/bin:/bin`): Promise<BuiltServer> {
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { PATH: path, HOLT_LISTEN: listen, HOLT_DATA_DIR: dataDir, HOLT_LOG_LEVEL: "warn" };
  const server = startProgram(program, [], env);
  await untilReady(server);
  return { ...server, baseUrl: `http://${listen}`, env };
}

/** Runs a command of the built program in an empty folder. @returns its standard output */
export async function runBuilt(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await run(program, [...args], { env, cwd: env.HOME ?? tmpdir() });
  return stdout;
}
