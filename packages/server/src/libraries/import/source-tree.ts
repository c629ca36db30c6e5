/** Reads an untrusted folder. Links are followed only within the folder. */
import { constants as flags } from "node:fs";
import { type FileHandle, lstat, open, opendir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { cannotRead, fileProblemOf } from "../../lib/file-problem.ts";

/** A file of the tree cannot be read. The message is for operators. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}

export interface SourceFile extends AsyncDisposable {
  readonly size: number;
  /** Call it once. */
  read(): Readable;
}

export interface SourceTree {
  /** Yields the path of each entry that is not a folder, relative to the root. Skips hidden files and folders. The order is arbitrary. */
  walk(onUnreadable: (path: string, error: UnreadableFile) => void): AsyncGenerator<string>;
  /** A regular file, or a link to one in the tree. @throws UnreadableFile */
  open(path: string): Promise<SourceFile>;
  /** Undefined if there is no such file. @throws UnreadableFile, also for a larger file */
  readSmall(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Whether anything exists at the path. */
  has(path: string): Promise<boolean>;
  /** The size of a file, for reporting progress. 0 if it is unknown. */
  sizeOf(path: string): Promise<number>;
}

/** @throws Error with a message for the operator */
export async function openTree(folder: string): Promise<SourceTree> {
  try {
    const root = await realpath(folder);
    if (!(await stat(root)).isDirectory()) throw new Error("not a folder");
    return new Tree(root);
  } catch (error) {
    throw cannotRead(folder, error);
  }
}

const CHUNK_BYTES = 256 * 1024;
const NOT_FOUND_CODES: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR"]);

class Tree implements SourceTree {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async *walk(onUnreadable: (path: string, error: UnreadableFile) => void): AsyncGenerator<string> {
    const folders = [""];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      try {
        for await (const entry of await opendir(join(this.#root, folder), { bufferSize: 256 })) {
          const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
          if (entry.name.startsWith(".")) continue;
          if (entry.isDirectory()) folders.push(path);
          else if (entry.isSymbolicLink() && (await this.#isFolder(path))) await this.#checkLinkedFolder(path, onUnreadable);
          else yield path;
        }
      } catch (error) {
        if (!isSystemError(error)) throw error;
        onUnreadable(folder || ".", new UnreadableFile(`the folder cannot be read: ${fileProblemOf(error)}`));
      }
    }
  }

  /** A linked folder is not walked: its files are found in their own folder. A link out of the tree is reported. */
  async #checkLinkedFolder(path: string, onUnreadable: (path: string, error: UnreadableFile) => void): Promise<void> {
    await this.#resolve(path).catch((error: UnreadableFile) => onUnreadable(path, error));
  }

  #isFolder(path: string): Promise<boolean> {
    return stat(join(this.#root, path)).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
  }

  /** Resolves links. @throws UnreadableFile if the path leads out of the tree */
  async #resolve(path: string): Promise<string> {
    const real = await realpath(join(this.#root, path)).catch((error: unknown) => {
      throw new UnreadableFile(`cannot be read: ${fileProblemOf(error)}`, { cause: error });
    });
    const root = this.#root.endsWith(sep) ? this.#root : this.#root + sep;
    if (real !== this.#root && !real.startsWith(root)) throw new UnreadableFile("a link leads out of the folder");
    return real;
  }

  async open(path: string): Promise<SourceFile> {
    const real = await this.#resolve(path);
    try {
      await using cleanUp = new AsyncDisposableStack();
      // Refuses a link that was created meanwhile, and does not block on a pipe without a writer.
      const file = cleanUp.use(await open(real, flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK));
      const stats = await file.stat();
      if (!stats.isFile()) throw new UnreadableFile("not a regular file");
      const owned = cleanUp.move();
      return {
        size: stats.size,
        read: () => Readable.from(chunksOf(file, stats.size), { objectMode: false }),
        [Symbol.asyncDispose]: () => owned.disposeAsync(),
      };
    } catch (error) {
      throw error instanceof UnreadableFile ? error : new UnreadableFile(`cannot be read: ${fileProblemOf(error)}`, { cause: error });
    }
  }

  async readSmall(path: string, maxBytes: number): Promise<Buffer | undefined> {
    if (!(await this.has(path))) return undefined;
    await using file = await this.open(path);
    if (file.size > maxBytes) throw new UnreadableFile(`larger than ${maxBytes} bytes`);
    return await buffer(file.read());
  }

  has(path: string): Promise<boolean> {
    return lstat(join(this.#root, path)).then(
      () => true,
      (error: NodeJS.ErrnoException) => !NOT_FOUND_CODES.has(error.code),
    );
  }

  sizeOf(path: string): Promise<number> {
    return stat(join(this.#root, path)).then(
      ({ size }) => size,
      () => 0,
    );
  }
}

/** Bytes that are appended meanwhile are not read. */
async function* chunksOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const length = Math.min(CHUNK_BYTES, size - position);
    const { buffer: chunk, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException | null)?.syscall === "string";
}
