/** Starts and stops the processes of a benchmark: the server under test, the bare servers and the load generators. */
import { type ChildProcess, execFile, fork, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { devNull } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../package.json" with { type: "json" };
import { freePort } from "../packages/server/test/harness/free-port.ts";
import type { Target } from "./data/fill.ts";
import type { LimitPlan } from "./limit/plan.ts";
import type { LoadMessage, LoadResult, LoadSpec } from "./load/worker.ts";

const HOLTD = join(import.meta.dirname, "../packages/server/bin/holtd.js");

export interface HoltServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** Token of the bootstrap owner. */
  readonly token: string;
  /** Milliseconds from the start of the process until it reports that it is ready. */
  readonly readyMs: number;
}

export interface HoltOptions {
  /** Environment variables in addition to those of the benchmark. */
  readonly settings?: Readonly<Record<string, string>>;
  /** File that the log is appended to. */
  readonly log?: string;
  /** Options of Node in addition to those of the benchmark. */
  readonly nodeOptions?: readonly string[];
}

/** Starts holtd as shipped, with the default log level and the log discarded unless a file is given. */
export async function startHolt(
  { url, dataDir }: Target,
  { settings = {}, log, nodeOptions: added = [] }: HoltOptions = {},
): Promise<HoltServer> {
  const port = await freePort();
  const env = {
    PATH: process.env.PATH ?? "",
    HOLT_LISTEN: `127.0.0.1:${port}`,
    HOLT_DATA_DIR: dataDir,
    HOLT_DATABASE_URL: url,
    // The test issuer for token exchange runs on this machine.
    HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    ...settings,
  };
  const started = performance.now();
  const stdio: StdioOptions = ["ignore", "pipe", openSync(log ?? process.env.BENCH_LOG ?? devNull, "a")];
  const child = spawn(process.execPath, [...nodeOptions(), ...added, HOLTD], { env, stdio });
  const end = once(child, "exit").then(([code]) => Promise.reject(new Error(`holtd exited with ${code}`)));
  end.catch(() => {});
  await Promise.race([once(child.stdout!, "data"), end]);
  const readyMs = performance.now() - started;
  const { stdout } = await promisify(execFile)(process.execPath, [HOLTD, "token"], { env });
  return { port, pid: child.pid ?? 0, token: stdout.trim(), readyMs, [Symbol.asyncDispose]: () => stop(child) };
}

/** Node options of the server: those of `npm start`, unless BENCH_NODE_OPTIONS replaces them, for instance with --cpu-prof. */
export function nodeOptions(): string[] {
  return (process.env.BENCH_NODE_OPTIONS ?? packageJson.scripts.start).split(" ").filter((option) => option.startsWith("--"));
}

export interface BareServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

/** Starts a server that responds to every request with `body`. */
export function startBare(kind: "http1" | "http2", body: Uint8Array): Promise<BareServer> {
  return startChild(`bare/${kind}.ts`, { body: Buffer.from(body).toString("base64") });
}

/** Starts a server that does only the work of a plan for each request. */
export function startLimit(kind: "http1" | "http2", plan: LimitPlan): Promise<BareServer> {
  return startChild(`limit/${kind}.ts`, plan);
}

/** Starts a program that reports its port when it has received `message`. */
async function startChild(program: string, message: object): Promise<BareServer> {
  const child = fork(join(import.meta.dirname, program));
  child.send(message);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { port, pid: child.pid ?? 0, [Symbol.asyncDispose]: () => stop(child) };
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/**
 * Runs a load generator in its own process. Rejects on the first unexpected response.
 * @param onWarm is called when the warm-up is over
 */
export async function makeLoad(kind: "http1" | "grpc", spec: LoadSpec, onWarm: () => void = () => {}): Promise<LoadResult> {
  const child = fork(join(import.meta.dirname, `load/${kind}.ts`));
  child.send(spec);
  try {
    return await new Promise((resolve, reject) => {
      child.on("exit", (code) => reject(new Error(`the load generator exited with ${code}`)));
      child.on("message", ({ result, error }: LoadMessage) => {
        if (error !== undefined) reject(new Error(error));
        else if (result !== undefined) resolve(result);
        else onWarm();
      });
    });
  } finally {
    child.disconnect();
    await stop(child);
  }
}

/** CPU seconds that a process has used so far; NaN if /proc is not available. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    // utime and stime, which every common Linux kernel counts in hundredths of a second.
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

/** CPU seconds of a process and its child processes: with HOLT_PROCESSES, a supervisor and its servers. */
export function cpuSecondsOfAll(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return [pid, ...children].map(cpuSeconds).reduce((sum, seconds) => sum + seconds, 0);
}

/** Resident memory of a process in MB. */
export async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) / 1024;
}
