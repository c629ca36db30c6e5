/** Remembers what `holt configure` changed, so that it can be undone. */
import { chmodSync, lstatSync, mkdirSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { readJsonFile, withLock, writeJsonFile } from "../contexts/config-folder.ts";
import { Failure } from "../failure.ts";
import { readIfPresent } from "./edit-file.ts";
import type { FileChange } from "./tool.ts";

export interface Entry {
  readonly files: readonly FileChange[];
  /** The context and uid of the pull token that was created. */
  readonly pullToken?: { readonly context: string | undefined; readonly uid: string };
}

type Journal = Readonly<Record<string, Entry>>;

const FILE = "configured.json";

export function readEntry(tool: string): Entry | undefined {
  const journal = readJsonFile<Journal>(FILE, {});
  return Object.hasOwn(journal, tool) ? journal[tool] : undefined;
}

export async function writeEntry(tool: string, entry: Entry | undefined): Promise<void> {
  await withLock("configured", async () => {
    const { [tool]: _old, ...others } = readJsonFile<Journal>(FILE, {});
    writeJsonFile(FILE, entry === undefined ? others : { ...others, [tool]: entry });
  });
}

/** An existing file keeps its mode and its symbolic links, but only the user may read a secret. */
export function applyChange({ path, after, isSecret }: FileChange): void {
  const target = targetOf(path);
  mkdirSync(dirname(target), { recursive: true });
  const existing = statSync(target, { throwIfNoEntry: false });
  const mode = (existing?.mode ?? 0o644) & (isSecret ? 0o700 : 0o777);
  const temporary = `${target}.holt-${process.pid}`;
  writeFileSync(temporary, after, { mode });
  // The process's umask may have taken permissions away.
  if (existing !== undefined) chmodSync(temporary, mode);
  renameSync(temporary, target);
}

/** Follows symbolic links, also to a file that does not exist yet. */
function targetOf(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path;
}

/** @throws Failure if somebody has changed a file since, before anything is restored */
export function assertUnchanged({ files }: Entry): void {
  for (const { path, after } of files)
    if (readIfPresent(path) !== after)
      throw new Failure(`${path} was changed after holt wrote it`, {
        advice: "remove the lines of holt by hand, or restore the file and try again",
      });
}

export function restore({ files }: Entry): void {
  for (const change of files) {
    if (change.before === undefined) rmSync(targetOf(change.path), { force: true });
    else applyChange({ ...change, after: change.before });
  }
}
