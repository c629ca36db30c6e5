/**
 * Finds the files that belong to the program besides its code, and starts its threads: in a checkout, in a built program
 * and in a single executable.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Worker, type WorkerOptions } from "node:worker_threads";

/** `scripts/build.js` defines it. */
declare const HOLT_IS_BUILT: boolean | undefined;

const isBuilt = typeof HOLT_IS_BUILT !== "undefined";

/** A folder of the program, which may be inside its executable. Names have slashes. */
export interface ProgramFiles {
  has(name: string): boolean;
  /** The names of the files directly in a folder; empty for the folder itself. None if there is no such folder. */
  list(folder: string): readonly string[];
  read(name: string): Buffer;
}

/** The contract between the server and the main script of the executable, scripts/build/executable-main.cjs. */
interface Executable {
  readonly fileNames: readonly string[];
  read(name: string): ArrayBuffer;
  /** JavaScript that makes a thread load a module of the executable. */
  threadCode(module: string): string;
}

const executable = (globalThis as { holtExecutable?: Executable }).holtExecutable;

/**
 * @param name the folder below `share` of a built program
 * @param inCheckout the same folder in a checkout
 */
export function programFiles(name: string, inCheckout: () => string): ProgramFiles {
  if (executable !== undefined) return filesInExecutable(executable, `share/${name}/`);
  return filesInFolder(isBuilt ? join(import.meta.dirname, "../share", name) : inCheckout());
}

export function filesInFolder(folder: string): ProgramFiles {
  return {
    has: (name) => existsSync(join(folder, name)),
    list: (name) => (existsSync(join(folder, name)) ? readdirSync(join(folder, name)) : []),
    read: (name) => readFileSync(join(folder, name)),
  };
}

function filesInExecutable({ fileNames, read }: Executable, prefix: string): ProgramFiles {
  const names = new Set(fileNames.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : [])));
  return {
    has: (name) => names.has(name),
    list(folder) {
      const below = folder === "" ? "" : `${folder}/`;
      const found = [...names].flatMap((name) => (name.startsWith(below) ? [name.slice(below.length)] : []));
      return found.filter((name) => !name.includes("/"));
    },
    read: (name) => Buffer.from(read(prefix + name)),
  };
}

/** Starts a thread with a module of this program. The size of its young generation is that of the options. */
export function startThread(module: URL, options: WorkerOptions): Worker {
  // V8 would prefer that of Node's own options, which has been set for the main thread already.
  setFlagsFromString("--max-semi-space-size=0");
  if (executable === undefined) return new Worker(module, options);
  return new Worker(executable.threadCode(module.href), { ...options, eval: true });
}

/** How node:child_process starts this program again with the same arguments. */
export interface OwnProgram {
  /** The first argument of the program that Node is, before `args`. */
  readonly exec: string;
  readonly args: string[];
  /** Options of Node. */
  readonly execArgv: string[];
}

/** @param command of holtd */
export function ownProgram(command: string): OwnProgram {
  // An executable has its options of Node inside, and takes all arguments for those of holtd.
  if (executable !== undefined) return { exec: command, args: [], execArgv: [] };
  return { exec: process.argv[1] ?? "", args: [command], execArgv: process.execArgv };
}

/** The shell's words for a command of holtd, such as "token". @param args arguments that npm would take for its own */
export function commandLineOf(command: string, args = ""): string {
  if (!isBuilt) return `npm run -s ${command}${args === "" ? "" : ` -- ${args}`}`;
  const program = executable === undefined ? (process.argv[1] ?? "holtd") : process.execPath;
  return `${program} ${command}${args === "" ? "" : ` ${args}`}`;
}
