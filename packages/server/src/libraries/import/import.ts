/** Publishes what lies in a folder: what is there already stays as it is, so an import can be repeated and gone on with. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, HoltError } from "../../lib/errors.ts";
import { findFile } from "../find-file.ts";
import type { Library } from "../library.ts";
import type { LibraryChange } from "../library-event.ts";
import { otherBytes, type PublishDependencies } from "../publish.ts";
import { type Outcome, publishStaged } from "../publish-staged.ts";
import { MAX_FILE } from "../stage.ts";
import { type SourceFile, type SourceTree, UnreadableFile } from "./source-tree.ts";
import type { Candidate, TreeFormat } from "./tree-format.ts";

export interface ImportProgress {
  /** That were looked at: packages, and those of them with a problem. */
  readonly files: number;
  readonly problems: number;
  /** Read so far, of packages. */
  readonly bytes: number;
}

export interface ImportResult extends ImportProgress {
  readonly created: number;
  readonly unchanged: number;
  /** That are none of the ecosystem's. */
  readonly others: number;
}

export interface ImportOptions {
  readonly library: Library;
  readonly tree: SourceTree;
  readonly format: TreeFormat;
  readonly change: () => LibraryChange;
  /** One file, or one folder, that is left out; the rest is imported. */
  readonly onProblem: (path: string, reason: string) => void;
  readonly onProgress: (progress: ImportProgress) => void;
  /** Files that are under way are finished; what was published stays. */
  readonly signal: AbortSignal;
}

/** At once: commits of several share one sync to disk. */
const PARALLEL = 8;

/** Rejects where the database or the folder of blobs fails, and with the signal's reason. */
export async function importTree(options: ImportOptions, dependencies: PublishDependencies): Promise<ImportResult> {
  const { tree, signal, onProblem, onProgress } = options;
  const result = { files: 0, problems: 0, bytes: 0, created: 0, unchanged: 0, others: 0 };
  const refuse = (path: string, error: Error) => {
    result.problems++;
    onProblem(path, reasonOf(error));
  };
  const onBytes = (length: number) => {
    result.bytes += length;
    onProgress(result);
  };
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const begin = (path: string): void => {
    const task = importOne(path, options, dependencies, onBytes)
      .then(
        (outcome) => void result[outcome]++,
        (error: unknown) => {
          if (isOfFile(error)) refuse(path, error);
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
  for await (const path of tree.walk(refuse)) {
    if (running.size >= PARALLEL) await Promise.race(running);
    if (signal.aborted || failure !== undefined) break;
    begin(path);
  }
  await Promise.all(running);
  if (failure !== undefined) throw failure.error;
  signal.throwIfAborted();
  return result;
}

/** How much an import will look at, so that it can tell how far it is. */
export async function measureTree({ tree, format, signal }: Pick<ImportOptions, "tree" | "format" | "signal">): Promise<number> {
  let bytes = 0;
  for await (const path of tree.walk(() => {})) {
    signal.throwIfAborted();
    const candidate = await format.inspect(path, tree).catch(() => undefined);
    if (candidate !== undefined) bytes += await tree.sizeOf(path);
  }
  return bytes;
}

function isOfFile(error: unknown): error is Error {
  if (error instanceof UnreadableFile) return true;
  return error instanceof HoltError && (error.code === Code.INVALID_ARGUMENT || error.code === Code.ALREADY_EXISTS);
}

/** Without the words that are for callers of the API. */
function reasonOf(error: Error): string {
  const violation = error instanceof HoltError ? error.details.fieldViolations?.[0] : undefined;
  return violation?.description ?? error.message.replace(/^(?:Invalid argument|Already exists): /, "");
}

/** Another process may hold the database for long. */
const PAUSES_MS = [500, 2000, 5000];

async function importOne(
  path: string,
  options: ImportOptions,
  dependencies: PublishDependencies,
  onBytes: (length: number) => void,
): Promise<Outcome | "others"> {
  const candidate = await options.format.inspect(path, options.tree);
  if (candidate === undefined) return "others";
  for (const pause of PAUSES_MS) {
    try {
      return await publishCandidate(path, candidate, options, dependencies, onBytes);
    } catch (error) {
      if (!(error instanceof HoltError) || ![Code.UNAVAILABLE, Code.ABORTED].includes(error.code as never)) throw error;
    }
    await sleep(pause);
  }
  return publishCandidate(path, candidate, options, dependencies, onBytes);
}

async function publishCandidate(
  path: string,
  candidate: Candidate,
  { library, tree, change }: ImportOptions,
  dependencies: PublishDependencies,
  onBytes: (length: number) => void,
): Promise<Outcome> {
  const { staging, store } = dependencies;
  await using file = await tree.open(path);
  if (file.size > MAX_FILE) throw new UnreadableFile(`it is larger than ${MAX_FILE} bytes`);
  const published = await findFile(store.reader, library, candidate.key, candidate.path);
  if (published !== undefined) {
    if (published.size !== file.size || published.digest !== (await digestOf(file, onBytes))) throw otherBytes(candidate);
    await candidate.verify(published);
    return "unchanged";
  }
  const source = new Source(file, onBytes);
  const staged = await staging
    .stage(source.bytes, MAX_FILE, () => source.isWhole())
    .catch((error: unknown) => {
      throw source.failure ?? error;
    });
  const read = async () => {
    await candidate.verify(staged);
    return candidate.read(staged, library, staging);
  };
  return publishStaged(staged, read, change, dependencies);
}

/** The bytes of a file on their way, and what became of them. */
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
        this.failure = new UnreadableFile(`it cannot be read to its end: ${error.message}`, { cause: error });
      });
  }

  isWhole(): boolean {
    if (this.#read < this.#size) this.failure ??= new UnreadableFile("it became shorter while it was read");
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
