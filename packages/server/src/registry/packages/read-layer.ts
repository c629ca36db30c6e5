/** Reads a layer's bytes as a stream and keeps what it changes of the files that are read; nothing is written to a disk, and nothing else kept. */
import type { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { BoundedStream } from "../../lib/bounded-stream.ts";
import { isOnTheWay, kindOf, normalizePath } from "./database-paths.ts";
import { Unreadable } from "./found-package.ts";
import type { FileContent, ImageFiles, LayerChanges } from "./image-files.ts";

const MAX_FILE = 64 * 1024 * 1024;
/** Of what all layers of an image unpack to: others wait for it to be read. */
const MAX_UNPACKED = 16 * 1024 ** 3;
/** A layer that unpacks to more than this must not be much smaller itself. */
const HARMLESS_BYTES = 256 * 1024 * 1024;
const MAX_RATIO = 250;
/** Of all that is kept of one layer. */
const MAX_KEPT = 128 * 1024 * 1024;
const MAX_CHANGES = 20_000;

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";

/** What the layers of one image may still unpack to. */
export class Allowance {
  #left: number;

  constructor(bytes = MAX_UNPACKED) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  use(bytes: number): void {
    this.#left = Math.max(0, this.#left - bytes);
  }
}

/**
 * @param size of the blob
 * @param below what the layers below have, for links to it
 * @param allowance is used up also by a layer that fails
 * @throws Unreadable where the bytes are no layer
 */
export async function readLayer(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
  below: ImageFiles,
  allowance: Allowance,
): Promise<LayerChanges> {
  const changes = new ChangeReader(below);
  const archive = extract();
  archive.on("entry", (header, content, next) => {
    // It fails with the archive, which says so itself.
    content.on("error", () => {});
    changes.read(header, content).then(() => next(), next);
  });
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) return changes;
  const head = Buffer.from(first.value.buffer, first.value.byteOffset, first.value.byteLength);
  const bytes = Readable.from(follow(head, iterator), { objectMode: false });
  const tooMuch = () =>
    new Unreadable(
      `it unpacks to more than ${MAX_RATIO} times its size, or with the layers below to more than ${MAX_UNPACKED / 1024 ** 3} GiB`,
    );
  const bounded = new BoundedStream(Math.min(allowance.left, Math.max(HARMLESS_BYTES, size * MAX_RATIO)), tooMuch);
  try {
    // By their first bytes: media types are the pusher's word.
    if (startsWith(head, GZIP)) await pipeline(bytes, createGunzip(), bounded, archive);
    else if (startsWith(head, ZSTD)) await pipeline(bytes, createZstdDecompress(), bounded, archive);
    else await pipeline(bytes, bounded, archive);
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable(`it is no whole tar archive (${reasonOf(error)})`);
  } finally {
    allowance.use(bounded.size);
  }
  return changes;
}

async function* follow(first: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

function startsWith(bytes: Buffer, magic: Buffer): boolean {
  return bytes.subarray(0, magic.length).equals(magic);
}

function reasonOf(error: unknown): string {
  return (error as Error).message.slice(0, 200);
}

/** Of one file in the archive. */
type Content = AsyncIterable<unknown> & EventEmitter & { resume(): unknown };

class ChangeReader implements LayerChanges {
  readonly removed = new Set<string>();
  readonly opaque = new Set<string>();
  readonly files = new Map<string, FileContent>();
  readonly #below: ImageFiles;
  #kept = 0;

  constructor(below: ImageFiles) {
    this.#below = below;
  }

  async read(header: Header, content: Content): Promise<void> {
    const path = normalizePath(header.name);
    if (path === undefined || path === "" || !this.#isChange(path)) return skip(content);
    if (this.files.size + this.removed.size > MAX_CHANGES)
      throw new Unreadable(`it changes more than ${MAX_CHANGES} files of package databases`);
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (name.startsWith(WHITEOUT)) this.#whiteOut(path, name);
    else if (header.type !== "directory" || kindOf(path) !== undefined) this.#remove(path);
    const isKept = kindOf(path) !== undefined && !name.startsWith(WHITEOUT);
    return isKept && this.#isReadable(path, header) ? this.#keep(path, content) : skip(content);
  }

  #isChange(path: string): boolean {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return name.startsWith(WHITEOUT) || isOnTheWay(path);
  }

  #whiteOut(path: string, name: string): void {
    const folder = path.slice(0, -name.length - 1);
    if (name === OPAQUE) {
      if (isOnTheWay(folder)) this.opaque.add(folder);
      return;
    }
    const target = path.slice(0, -name.length) + name.slice(WHITEOUT.length);
    if (isOnTheWay(target)) this.removed.add(target);
  }

  /** What is no folder has nothing below it, and stands in the place of what had the name before. */
  #remove(path: string): void {
    this.removed.add(path);
    this.files.delete(path);
    if (kindOf(path) !== undefined) return;
    for (const file of this.files.keys()) if (file.startsWith(`${path}/`)) this.files.delete(file);
  }

  #isReadable(path: string, { type, size = 0, linkname }: Header): boolean {
    if (type === "link") {
      const target = normalizePath(linkname ?? "") ?? "";
      this.files.set(path, this.files.get(target) ?? this.#below.get(target) ?? "it is a link to a file that is not read");
    }
    if (type !== "file" && type !== "contiguous-file") return false;
    if (size > MAX_FILE) {
      this.files.set(path, `it is larger than ${MAX_FILE >> 20} MiB`);
      return false;
    }
    this.#kept += size;
    if (this.#kept > MAX_KEPT) throw new Unreadable(`its package databases are larger than ${MAX_KEPT >> 20} MiB`);
    return true;
  }

  async #keep(path: string, content: Content): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of content) pieces.push(piece as Buffer);
    this.files.set(path, Buffer.concat(pieces));
  }
}

function skip(content: Content): Promise<void> {
  return new Promise((resolve) => {
    content.once("end", resolve).once("close", resolve);
    content.resume();
  });
}
