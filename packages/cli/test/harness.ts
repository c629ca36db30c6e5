/** Runs holt as a process, with settings of its own, against a real server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startWorld, type World } from "../../server/test/harness/world.ts";

export const PROGRAM = join(import.meta.dirname, "../bin/holt.js");

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; empty by default. */
  readonly input?: string;
  readonly cwd?: string;
}

/** A command that runs. */
export interface Running {
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

export interface CommandLine extends AsyncDisposable {
  /** The folder with the settings, and the working folder. */
  readonly folder: string;
  start(args: readonly string[], options?: RunOptions): Running;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Runs a command that must succeed. @returns its standard output */
  must(args: readonly string[], options?: RunOptions): Promise<string>;
  /** The same, as JSON. */
  json<T>(args: readonly string[], options?: RunOptions): Promise<T>;
  /** The environment of a process. */
  environment(more?: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}

/** Settings of its own: nothing of the machine's user is read or written. */
export async function createCommandLine(): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "holt-cli-"));
  const environment = (more: Readonly<Record<string, string>> = {}) => ({
    PATH: process.env.PATH ?? "",
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    // The keyring of the machine's user stays as it is.
    HOLT_CREDENTIAL_STORE: "file",
    // The machine may be busy.
    HOLT_COMPLETION_TIMEOUT: "60s",
    ...more,
  });
  function start(args: readonly string[], { env, input = "", cwd = folder }: RunOptions = {}): Running {
    const child = spawn(process.execPath, [PROGRAM, ...args], { cwd, env: environment(env), stdio: "pipe" });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    // A command that ends before it reads its input is not a failure.
    child.stdin.on("error", () => {}).end(input);
    const ended = once(child, "close").then(([status]) => ({ status: status as number | null, stdout, stderr }));
    return { stdout: () => stdout, stderr: () => stderr, kill: (signal) => void child.kill(signal), ended };
  }
  const run = (args: readonly string[], options?: RunOptions) => start(args, options).ended;
  async function must(args: readonly string[], options?: RunOptions): Promise<string> {
    const { status, stdout, stderr } = await run(args, options);
    if (status !== 0) throw new Error(`holt ${args.join(" ")} ended with ${status}:\n${stderr}`);
    return stdout;
  }
  return {
    folder,
    start,
    run,
    must,
    json: async (args, options) => JSON.parse(await must([...args, "-o", "json"], options)),
    environment,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface CommandLineWorld extends World {
  /** Signed in as the owner of the organization. */
  readonly holt: CommandLine;
}

/** A server, and a command line that is signed in there as the owner. */
export async function startCommandLineWorld(options: Parameters<typeof startWorld>[0] = {}): Promise<CommandLineWorld> {
  await using cleanUp = new AsyncDisposableStack();
  const world = cleanUp.use(await startWorld(options));
  const holt = cleanUp.use(await createCommandLine());
  await holt.must(["login", world.baseUrl, "--token-stdin", "--name", "test"], { input: world.token });
  const owned = cleanUp.move();
  return { ...world, holt, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
