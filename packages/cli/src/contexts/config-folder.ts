/** The folder of the command line's settings, and safe changes of the files in it. */
import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createFolders } from "../create-folders.ts";
import { Failure } from "../failure.ts";

/** HOLT_CONFIG_DIR, or the folder `holt` of the XDG base directory. */
function configFolder(): string {
  const { HOLT_CONFIG_DIR, XDG_CONFIG_HOME, APPDATA } = process.env;
  if (HOLT_CONFIG_DIR) return HOLT_CONFIG_DIR;
  if (XDG_CONFIG_HOME) return join(XDG_CONFIG_HOME, "holt");
  return process.platform === "win32" && APPDATA ? join(APPDATA, "holt") : join(homedir(), ".config", "holt");
}

/** @returns `fallback` if the file does not exist */
export function readJsonFile<T>(name: string, fallback: T): T {
  const path = join(configFolder(), name);
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
  } catch (error) {
    // The home folder of a service is often /dev/null, which has no files in it.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return fallback;
    if (error instanceof SyntaxError)
      throw new Failure(`${path} is not valid JSON`, { advice: "repair it, or delete it and sign in again" });
    throw error;
  }
}

/** Only the user may read it. Readers see the old file or the new one, never a part. */
export function writeJsonFile(name: string, value: unknown): void {
  const folder = createFolder();
  const temporary = join(folder, `.${name}.${process.pid}`);
  const file = inFolder(folder, () => openSync(temporary, "w", 0o600));
  try {
    writeSync(file, `${JSON.stringify(value, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  chmodSync(temporary, 0o600);
  renameSync(temporary, join(folder, name));
}

function createFolder(): string {
  const folder = configFolder();
  inFolder(folder, () => createFolders(folder, 0o700));
  return folder;
}

/** @throws Failure if the user may not write to the folder of the settings */
function inFolder<T>(folder: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EACCES", "EPERM", "EROFS", "ENOENT", "ENOTDIR", "EEXIST"].includes(code)) throw error;
    const advice = "set HOLT_CONFIG_DIR to a folder that you may write to";
    throw new Failure(`the settings cannot be written to ${folder} (${code})`, { advice, cause: error });
  }
}

const RETRY_MS = 25;
/** Age at which a lock without a readable owner, or one for a removal, is ignored. A crash may leave such a lock. */
const OLD_MS = 10_000;

/** No command holds a lock this long. Another process may have got the process ID of a killed one. */
const MAX_HELD_MS = 300_000;

/** Runs `work` while no other process of this user holds the lock. @throws Failure if one holds it for too long */
export async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const folder = createFolder();
  const path = join(folder, `.${name}.lock`);
  while (!inFolder(folder, () => takeLock(path))) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function takeLock(path: string): boolean {
  if (createLock(path)) return true;
  if (isAbandoned(path)) removeAbandoned(path);
  else if (isOlderThan(path, MAX_HELD_MS))
    throw new Failure(`${path} has been locked for more than ${MAX_HELD_MS / 60_000} minutes`, {
      advice: "end the other command; if none runs, delete the file",
    });
  return false;
}

/** @returns false if there is one already */
function createLock(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

/** Only one process removes an abandoned lock, after it has looked again: another one may have the lock by now. */
function removeAbandoned(path: string): void {
  const removal = `${path}.removal`;
  if (!createLock(removal)) {
    if (isOlderThan(removal, OLD_MS)) rmSync(removal, { force: true });
    return;
  }
  try {
    if (isAbandoned(path)) rmSync(path, { force: true });
  } finally {
    rmSync(removal, { force: true });
  }
}

/** Whether the process that took the lock was killed. */
function isAbandoned(path: string): boolean {
  try {
    const owner = Number(readFileSync(path, "utf8"));
    if (!Number.isInteger(owner) || owner <= 0) return isOlderThan(path, OLD_MS);
    process.kill(owner, 0);
    return false;
  } catch (error) {
    // EPERM is a process of another user: it is alive. ENOENT is a lock that was released meanwhile.
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

function isOlderThan(path: string, ms: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > ms;
}
