/** Remembers what `holt configure` changed, so that it can be undone. */
import { chmodSync, lstatSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { readJsonFile, withLock, writeJsonFile } from "../contexts/config-folder.ts";
import { createFolders } from "../create-folders.ts";
import { Failure } from "../failure.ts";
import { diff } from "./diff.ts";
import { hasOnlyBlocks, readIfPresent, withoutBlockOf } from "./edit-file.ts";
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

/** @throws Failure if the file cannot be written */
export function applyChange(change: FileChange): void {
  try {
    replaceFile(change);
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const advice = "let the command write this file, and run it again";
    throw new Failure(`${change.path} cannot be written (${code || message})`, { advice, cause: error });
  }
}

/** An existing file keeps its mode and its symbolic links, but only the user may read a secret. */
function replaceFile({ path, after, isSecret }: FileChange): void {
  const target = targetOf(path);
  createFolders(dirname(target));
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

/**
 * Restores each file. From a file that somebody has changed since, it removes the block of holt and leaves the rest.
 * @throws Failure if lines of holt are left, after everything else is restored
 */
export function restore({ files }: Entry): void {
  const left = files.filter((change) => !restoreFile(change)).map(({ path }) => path);
  if (left.length > 0)
    throw new Failure(`changed after holt wrote it: ${left.join(", ")}`, {
      advice: "remove the lines of holt by hand, and run the command again",
    });
}

/** @returns whether the file has no line of holt any more */
function restoreFile(change: FileChange): boolean {
  const { path, before, after } = change;
  const current = readIfPresent(path);
  if (current === before || current === undefined) return true;
  if (current === after && before === undefined) rmSync(targetOf(path), { force: true });
  else if (current === after) applyChange({ ...change, after: before ?? "" });
  else return removeBlock(change, current);
  return true;
}

function removeBlock(change: FileChange, current: string): boolean {
  const rest = withoutBlockOf(change, current);
  if (linesOfHolt(change).some((line) => rest.includes(line))) return false;
  // Another tool may have created the file.
  if (rest === "" && hasOnlyBlocks(change.before ?? change.after)) rmSync(targetOf(change.path), { force: true });
  else if (rest !== current) applyChange({ ...change, after: rest });
  return true;
}

/** Lines that name holt, its libraries or its pull tokens. Others that it wrote, such as the head of a section, may be in use. */
const NAMES_HOLT = /holt|\/libraries\//;

function linesOfHolt({ before = "", after }: FileChange): string[] {
  return diff(before, after)
    .filter(({ sign, text }) => sign === "+" && NAMES_HOLT.test(text))
    .map(({ text }) => text.trim().replace(/,$/, ""))
    .filter((line) => !before.includes(line));
}
