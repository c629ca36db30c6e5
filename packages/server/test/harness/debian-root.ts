/**
 * A Debian in which tests install packages: the folder of HOLT_TEST_CHROOT, or this machine. Changes go to an overlay in
 * memory, which is gone when the process that has mounted it ends.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { hasProgram } from "./has-program.ts";
import { temporaryFolder } from "./holtd.ts";

const run = promisify(execFile);

/** Mounts the overlay of the folder $2 below $1, and keeps it until its standard input ends. */
const MOUNT = `
  mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" "$1/root" &&
  mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root" &&
  mount --rbind /dev "$1/root/dev" && mount --rbind /proc "$1/root/proc" && echo ready && cat`;

export interface DebianRoot extends AsyncDisposable {
  /** Its root folder, as this process sees it. */
  readonly path: string;
  /** The command with which this process runs one in it. @param options of chroot */
  commandOf(command: readonly string[], options?: readonly string[]): readonly [string, string[]];
  /** @returns the standard output */
  run(...command: readonly string[]): Promise<string>;
}

export const ENVIRONMENT = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };

/** @returns undefined if this machine is not a Debian, or does not let this process mount */
export async function openDebianRoot(): Promise<DebianRoot | undefined> {
  const system = process.env.HOLT_TEST_CHROOT ?? "/";
  if (!existsSync(join(system, "etc/debian_version")) || !["unshare", "nsenter", "chroot"].every(hasProgram)) return undefined;
  await using owned = new AsyncDisposableStack();
  const folder = owned.use(await temporaryFolder());
  const place = join(folder.path, "debian");
  await mkdir(place);
  const holder = spawn("unshare", ["--mount", "sh", "-c", MOUNT, "sh", place, system], { stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(holder, "exit");
  owned.defer(async () => {
    holder.stdin.end();
    await ended;
  });
  const isReady = await Promise.race([once(holder.stdout, "data").then(() => true), ended.then(() => false)]);
  if (!isReady) return undefined;
  const root = join(place, "root");
  const commandOf: DebianRoot["commandOf"] = (command, options = []) => [
    "nsenter",
    ["--mount", "--target", String(holder.pid), "chroot", ...options, root, ...command],
  ];
  const kept = owned.move();
  return {
    path: `/proc/${holder.pid}/root${root}`,
    commandOf,
    run: async (...command) => (await run(...commandOf(command), { env: ENVIRONMENT })).stdout,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
