/** Remembers what `holt configure` changed, so that it can be undone. */
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
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

export function applyChange({ path, after, isSecret }: FileChange): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.holt-${process.pid}`;
  writeFileSync(temporary, after, { mode: isSecret ? 0o600 : 0o644 });
  if (isSecret) chmodSync(temporary, 0o600);
  renameSync(temporary, path);
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
    if (change.before === undefined) rmSync(change.path, { force: true });
    else applyChange({ ...change, after: change.before });
  }
}
