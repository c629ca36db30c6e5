/** Publishes the packages in a folder. Published files are skipped, so an import can be repeated and resumed. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Parsers } from "../../jobs/parsers.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { findFile } from "../find-file.ts";
import type { Library } from "../library.ts";
import type { LibraryChange } from "../library-event.ts";
import { otherBytes, type PublishDependencies, type PublishOutcome } from "../publish.ts";
import { publishStaged } from "../publish-staged.ts";
import { MAX_FILE } from "../stage.ts";
import { type SourceFile, type SourceTree, UnreadableFile } from "./source-tree.ts";
import type { Candidate, TreeFormat } from "./tree-format.ts";

export interface ImportProgress {
  /** Packages that were processed, including those with a problem. */
  readonly files: number;
  readonly problems: number;
  /** Bytes of packages that were read. */
  readonly bytes: number;
}

export interface ImportResult extends ImportProgress {
  readonly created: number;
  readonly unchanged: number;
  /** Files that are not packages of the ecosystem. */
  readonly others: number;
}

export interface ImportOptions {
  readonly library: Library;
  readonly tree: SourceTree;
  readonly format: TreeFormat;
  readonly parsers: Parsers;
  /** Uid of the identity that publishes. */
  readonly publisher: string;
  readonly change: () => LibraryChange;
  /** Reports a file or folder that is skipped. The rest is imported. */
  readonly onProblem: (path: string, reason: string) => void;
  readonly onProgress: (progress: ImportProgress) => void;
  /** Stops the import: files under way are finished, and published files stay. */
  readonly signal: AbortSignal;
}

interface ImportRun extends ImportOptions {
  readonly dependencies: PublishDependencies;
  readonly onBytes: (length: number) => void;
}

/** Files that are imported concurrently: their commits share one sync to disk. */
const PARALLEL_FILES = 8;

/** Rejects if the database or the folder of blobs fails, and with the reason of the signal. */
export async function importTree(options: ImportOptions, dependencies: PublishDependencies): Promise<ImportResult> {
  const { tree, signal, onProblem, onProgress } = options;
  const result = { files: 0, problems: 0, bytes: 0, created: 0, unchanged: 0, others: 0 };
  const report = (path: string, error: Error) => {
    result.problems++;
    onProblem(path, reasonOf(error));
  };
  const onBytes = (length: number) => {
    result.bytes += length;
    onProgress(result);
  };
  const run: ImportRun = { ...options, dependencies, onBytes };
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const start = (path: string): void => {
    const task = importFile(path, run)
      .then(
        (outcome) => void result[outcome === "attested" ? "unchanged" : outcome]++,
        (error: unknown) => {
          if (isFileProblem(error)) report(path, error);
          else failure ??= { error };
        },
      )
      .finally(() => {
        result.files = result.created + result.unchanged + result.problems;
        onProgress(result);
        running.delete(task);
      });
    running.add(task);
  };
  for await (const path of tree.walk(report)) {
    if (running.size >= PARALLEL_FILES) await Promise.race(running);
    if (signal.aborted || failure !== undefined) break;
    start(path);
  }
  await Promise.all(running);
  if (failure !== undefined) throw failure.error;
  signal.throwIfAborted();
  return result;
}

/** The total size of the packages in a tree, for reporting progress. */
export async function measureTree({ tree, format, signal }: Pick<ImportOptions, "tree" | "format" | "signal">): Promise<number> {
  let bytes = 0;
  for await (const path of tree.walk(() => {})) {
    signal.throwIfAborted();
    const candidate = await format.inspect(path, tree).catch(() => undefined);
    if (candidate !== undefined) bytes += await tree.sizeOf(path);
  }
  return bytes;
}

/** Such an error skips the file; any other error ends the import. */
function isFileProblem(error: unknown): error is Error {
  if (error instanceof UnreadableFile) return true;
  // A project that is archived takes no files.
  const codes: readonly Code[] = [Code.INVALID_ARGUMENT, Code.ALREADY_EXISTS, Code.FAILED_PRECONDITION];
  return error instanceof HoltError && codes.includes(error.code);
}

/** The message without the prefix that API clients get. */
function reasonOf(error: Error): string {
  const violation = error instanceof HoltError ? error.details.fieldViolations?.[0] : undefined;
  return violation?.description ?? error.message.replace(/^(?:Invalid argument|Already exists|Precondition failed): /, "");
}

/** Another process can hold the database for long. */
const RETRY_DELAYS_MS = [500, 2000, 5000];

async function importFile(path: string, run: ImportRun): Promise<PublishOutcome | "others"> {
  const candidate = await run.format.inspect(path, run.tree);
  if (candidate === undefined) return "others";
  for (const delay of RETRY_DELAYS_MS) {
    try {
      return await publishCandidate(path, candidate, run);
    } catch (error) {
      if (!(error instanceof HoltError) || ![Code.UNAVAILABLE, Code.ABORTED].includes(error.code as never)) throw error;
    }
    await sleep(delay);
  }
  return publishCandidate(path, candidate, run);
}

async function publishCandidate(path: string, candidate: Candidate, run: ImportRun): Promise<PublishOutcome> {
  const { library, tree, change, parsers, publisher, dependencies, onBytes } = run;
  const { staging, store } = dependencies;
  await using file = await tree.open(path);
  if (file.size > MAX_FILE) throw new UnreadableFile(`larger than ${MAX_FILE} bytes`);
  const published = await findFile(store.reader, library, candidate.key, candidate.path);
  if (published !== undefined) {
    if (published.size !== file.size || published.digest !== (await digestOf(file, onBytes))) throw otherBytes(candidate);
    await candidate.verify(published);
    return "unchanged";
  }
  const source = new Source(file, onBytes);
  const staged = await staging
    .stage(source.bytes, MAX_FILE, () => source.isComplete())
    .catch((error: unknown) => {
      throw source.failure ?? error;
    });
  const read = async () => {
    await candidate.verify(staged);
    return candidate.read(staged, { library, staging, parsers, publisher });
  };
  return await publishStaged(staged, read, change, dependencies);
}

/** Reads a file once and keeps the reason if that fails. */
class Source {
  readonly bytes: Readable;
  readonly #size: number;
  #read = 0;
  failure: UnreadableFile | undefined;

  constructor(file: SourceFile, onBytes: (length: number) => void) {
    this.#size = file.size;
    this.bytes = file
      .read()
      .on("data", ({ length }: Buffer) => {
        this.#read += length;
        onBytes(length);
      })
      .once("error", (error) => {
        this.failure = new UnreadableFile(`cannot be read to its end: ${error.message}`, { cause: error });
      });
  }

  isComplete(): boolean {
    if (this.#read < this.#size) this.failure ??= new UnreadableFile("the file became shorter while it was read");
    return this.failure === undefined;
  }
}

async function digestOf(file: SourceFile, onBytes: (length: number) => void): Promise<string> {
  const source = new Source(file, onBytes);
  const hash = createHash("sha256");
  try {
    await pipeline(source.bytes, hash);
  } catch (error) {
    throw source.failure ?? error;
  }
  return `sha256:${hash.digest("hex")}`;
}
