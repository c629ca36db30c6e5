/** A folder that nobody vouches for, read from top to bottom and never out of it. */
import { constants as flags } from "node:fs";
import { type FileHandle, lstat, open, opendir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";

/** What keeps a file of the tree from being read, for people. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}

export interface SourceFile extends AsyncDisposable {
  readonly size: number;
  /** From the beginning, once. An error of it is an UnreadableFile. */
  read(): Readable;
}

export interface SourceTree {
  /** Paths with slashes, from the folder on, of all that is neither a folder nor behind one that is hidden. In no particular order. */
  walk(onUnreadable: (path: string, error: UnreadableFile) => void): AsyncGenerator<string>;
  /** A regular file, or a link to one in the tree. @throws UnreadableFile */
  open(path: string): Promise<SourceFile>;
  /** Undefined where there is none. @throws UnreadableFile, also where it has more bytes */
  readSmall(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Whether there is anything at that path. */
  has(path: string): Promise<boolean>;
  /** Of a file, for telling how far one is; 0 where nobody knows. */
  sizeOf(path: string): Promise<number>;
}

/** @throws Error for the operator */
export async function openTree(folder: string): Promise<SourceTree> {
  try {
    const root = await realpath(folder);
    if (!(await stat(root)).isDirectory()) throw new Error("it is no folder");
    return new Tree(root);
  } catch (error) {
    throw new Error(`cannot read ${folder}: ${reasonOf(error)}`, { cause: error });
  }
}

const READ_SIZE = 256 * 1024;
const NOTHING: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR"]);

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
          else if (entry.isSymbolicLink() && (await this.#isFolder(path))) await this.#passFolder(path, onUnreadable);
          else yield path;
        }
      } catch (error) {
        if (!isOfSystem(error)) throw error;
        onUnreadable(folder || ".", new UnreadableFile(`the folder cannot be read: ${reasonOf(error)}`));
      }
    }
  }

  /** What a link leads to is met where it is. */
  async #passFolder(path: string, onUnreadable: (path: string, error: UnreadableFile) => void): Promise<void> {
    await this.#within(path).catch((error: UnreadableFile) => onUnreadable(path, error));
  }

  #isFolder(path: string): Promise<boolean> {
    return stat(join(this.#root, path)).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
  }

  /** Where a path really leads, which may be elsewhere in the tree. */
  async #within(path: string): Promise<string> {
    const real = await realpath(join(this.#root, path)).catch((error: unknown) => {
      throw new UnreadableFile(`it cannot be read: ${reasonOf(error)}`, { cause: error });
    });
    const root = this.#root.endsWith(sep) ? this.#root : this.#root + sep;
    if (real !== this.#root && !real.startsWith(root)) throw new UnreadableFile("it is a link that leads out of the folder");
    return real;
  }

  async open(path: string): Promise<SourceFile> {
    const real = await this.#within(path);
    try {
      await using cleanUp = new AsyncDisposableStack();
      // Neither a link that somebody has just put there, nor for ever where a pipe has no writer.
      const file = cleanUp.use(await open(real, flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK));
      const stats = await file.stat();
      if (!stats.isFile()) throw new UnreadableFile("it is no regular file");
      const owned = cleanUp.move();
      return {
        size: stats.size,
        read: () => Readable.from(piecesOf(file, stats.size), { objectMode: false }),
        [Symbol.asyncDispose]: () => owned.disposeAsync(),
      };
    } catch (error) {
      throw error instanceof UnreadableFile ? error : new UnreadableFile(`it cannot be read: ${reasonOf(error)}`, { cause: error });
    }
  }

  async readSmall(path: string, maxBytes: number): Promise<Buffer | undefined> {
    if (!(await this.has(path))) return undefined;
    await using file = await this.open(path);
    if (file.size > maxBytes) throw new UnreadableFile(`it is larger than ${maxBytes} bytes`);
    return buffer(file.read());
  }

  has(path: string): Promise<boolean> {
    return lstat(join(this.#root, path)).then(
      () => true,
      (error: NodeJS.ErrnoException) => !NOTHING.has(error.code),
    );
  }

  sizeOf(path: string): Promise<number> {
    return stat(join(this.#root, path)).then(
      ({ size }) => size,
      () => 0,
    );
  }
}

/** What is written to it meanwhile is not read. */
async function* piecesOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const length = Math.min(READ_SIZE, size - position);
    const { buffer: piece, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

function isOfSystem(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException | null)?.syscall === "string";
}

/** Without paths, of which there is one already. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS.get(code ?? "") ?? code ?? message;
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["ENOENT", "there is nothing there"],
  ["ENOTDIR", "there is nothing there"],
  ["ELOOP", "it is a link that leads nowhere"],
  ["ENXIO", "it is no regular file"],
  ["ENAMETOOLONG", "its path is too long"],
]);
