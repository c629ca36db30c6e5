/** Runs holtd as a separate process with only the given settings. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { freePort } from "./free-port.ts";
import { until, within } from "./wait.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/holtd.js");

export type Settings = Readonly<Record<string, string>>;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Process extends AsyncDisposable {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

export interface RunningServer extends Process {
  readonly baseUrl: string;
  readonly port: number;
}

let scratch: string | undefined;

/** A folder that is deleted when the tests of this process end. */
function scratchFolder(): string {
  if (scratch === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "holt-scratch-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    chmodSync(folder, 0o777);
    scratch = folder;
  }
  return scratch;
}

/** Starts holtd; disposing kills it. `uid` runs it as another user. */
export function startProcess(args: readonly string[], settings: Settings, uid?: number): Process {
  return startProgram(process.execPath, [PROGRAM, ...args], settings, uid);
}

export function startProgram(program: string, args: readonly string[], settings: Settings, uid?: number): Process {
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(program, args, {
    // The default data folder is relative.
    cwd: scratchFolder(),
    env: { PATH: process.env.PATH ?? "", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    ...(uid === undefined ? {} : { uid }),
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, stdout, stderr }) as Ended);
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => void child.kill(signal),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Runs a command and waits for its end. */
export async function runHoltd(args: readonly string[], settings: Settings, uid?: number): Promise<Ended> {
  await using child = startProcess(args, settings, uid);
  return await within(child.ended, () => `holtd ${args.join(" ")} did not end:\n${child.stderr()}`);
}

/** Starts a server and waits until it is ready. @param node the Node that runs it */
export async function startHoltd(settings: Settings, node = process.execPath): Promise<RunningServer> {
  const listen = settings.HOLT_LISTEN ?? `127.0.0.1:${await freePort()}`;
  const child = startProgram(node, [PROGRAM], { ...settings, HOLT_LISTEN: listen });
  await untilReady(child);
  const port = Number(listen.slice(listen.lastIndexOf(":") + 1));
  const scheme = settings.HOLT_TLS_CERT === undefined ? "http" : "https";
  return { ...child, port, baseUrl: settings.HOLT_BASE_URL ?? `${scheme}://127.0.0.1:${port}` };
}

/** Starts a server once and stops it: commands refuse data that no server has used. */
export async function createInstallation(settings: Settings): Promise<void> {
  await using server = await startHoltd(settings);
  server.kill("SIGTERM");
  await server.ended;
}

export async function untilReady(child: Process): Promise<void> {
  let isOver = false;
  const failure = child.ended.then(({ code, signal, stderr }) => {
    isOver = true;
    throw new Error(`holtd ended with ${code ?? signal} before it was ready:\n${stderr}`);
  });
  await Promise.race([until(() => isOver || child.stdout().includes("Holt is ready")), failure]);
  if (isOver) await failure;
  failure.catch(() => {});
}

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), "holt-process-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Runs `holtd token`. @returns the access token */
export async function printedToken(settings: Settings): Promise<string> {
  const { code, stdout, stderr } = await runHoltd(["token"], settings);
  if (code !== 0) throw new Error(`holtd token failed:\n${stderr}`);
  return stdout.trim();
}

/** Sends a REST request with a token. */
export async function get(baseUrl: string, path: string, token: string): Promise<{ status: number; json: never }> {
  const answer = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${token}` } });
  return { status: answer.status, json: (await answer.json()) as never };
}
