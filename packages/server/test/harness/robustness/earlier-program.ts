/** Extracts an earlier version of this program from the history, to run it beside the current one. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../../../../..");
const MIGRATIONS = "packages/server/src/*/migrations/*.ts";

const git = async (...args: string[]) => (await promisify(execFile)("git", ["-C", ROOT, ...args])).stdout.trim();

export interface EarlierProgram extends AsyncDisposable {
  readonly commit: string;
  /** The path of its `holtd`. */
  readonly holtd: string;
}

/**
 * The last release; before the first one, the commit before the newest migration. Undefined without the history.
 */
export async function findEarlierCommit(): Promise<string | undefined> {
  if (!existsSync(join(ROOT, ".git"))) return undefined;
  try {
    const release = await git("describe", "--tags", "--abbrev=0", "--match=v*", "HEAD^").catch(() => "");
    if (release !== "") return release;
    const newest = await git("log", "--diff-filter=A", "--format=%H", "-1", "--", MIGRATIONS);
    return await git("rev-parse", `${newest}^`);
  } catch {
    return undefined;
  }
}

export async function extractProgram(commit: string): Promise<EarlierProgram> {
  const folder = await mkdtemp(join(tmpdir(), "holt-earlier-"));
  const archive = join(folder, "archive.tar");
  await git("archive", `--output=${archive}`, commit, "packages", "package.json");
  await promisify(execFile)("tar", ["-xf", archive, "-C", folder]);
  // Its own workspaces, with the installed packages of this checkout.
  const modules = join(folder, "node_modules");
  await mkdir(join(modules, "@holt"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== "@holt") await symlink(join(ROOT, "node_modules", name), join(modules, name));
  for (const name of readdirSync(join(ROOT, "node_modules/@holt")))
    await symlink(join(folder, "packages", name), join(modules, "@holt", name));
  return {
    commit,
    holtd: join(folder, "packages/server/bin/holtd.js"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
