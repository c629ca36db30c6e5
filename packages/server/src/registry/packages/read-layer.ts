/** Reads a layer as a stream and keeps its changes to the files that are read. Nothing is written to disk. */
import { buffer } from "node:stream/consumers";
import { archiveFormatOf } from "../../archives/archive-format.ts";
import { decompress } from "../../archives/decompress.ts";
import { ArchiveError, type ArchiveLimits, ArchiveMeter } from "../../archives/limits.ts";
import { type TarEntry, type TarHeader, tarEntries } from "../../archives/tar-entries.ts";
import { normalizePath, type ReadPaths } from "./database-paths.ts";
import { Unreadable } from "./found-package.ts";
import type { FileContent, ImageFiles, LayerChanges } from "./image-files.ts";

const MAX_FILE = 64 * 1024 * 1024;
/** Bytes that all layers of an image together may expand to. Other images wait while they are read. */
const MAX_EXPANDED = 16 * 1024 ** 3;
/**
 * Entries are limited by the bytes that they expand to. Paths are normalized instead of refused, since the root of an
 * image is its root.
 */
const LAYER_LIMITS: ArchiveLimits = {
  maxEntries: Number.POSITIVE_INFINITY,
  freeBytes: 256 * 1024 * 1024,
  maxRatio: 250,
  paths: { backslash: "separator" },
};
/** Bytes that are kept of one layer. */
const MAX_KEPT = 128 * 1024 * 1024;
const MAX_CHANGES = 20_000;
const MAX_TARGET_LENGTH = 1024;

const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";

/** The bytes that the layers of one image may still expand to. */
export class Allowance {
  #left: number;

  constructor(bytes = MAX_EXPANDED) {
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
 * @param below the files of the layers below, for links to them
 * @param allowance is used up by failing layers as well
 * @throws Unreadable if the bytes are not a layer
 */
export async function readLayer(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
  below: ImageFiles,
  allowance: Allowance,
): Promise<LayerChanges> {
  const changes = new ChangeReader(below);
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) return changes;
  const meter = new ArchiveMeter(LAYER_LIMITS, size);
  try {
    // By the first bytes, because media types are claims of the client that pushed.
    const layer = decompress(follow(first.value, iterator), archiveFormatOf(first.value), meter);
    for await (const entry of tarEntries(limited(layer, meter, allowance.left), meter)) await changes.read(entry);
  } catch (error) {
    throw error instanceof ArchiveError ? new Unreadable(error.message) : error;
  } finally {
    allowance.use(meter.expandedBytes);
  }
  return changes;
}

async function* limited(bytes: AsyncIterable<Uint8Array>, meter: ArchiveMeter, left: number): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    if (meter.expandedBytes > left) throw new Unreadable(`the image's layers together expand to more than ${MAX_EXPANDED / 1024 ** 3} GiB`);
    yield chunk;
  }
}

async function* follow(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

class ChangeReader implements LayerChanges {
  readonly removed = new Set<string>();
  readonly opaque = new Set<string>();
  readonly files = new Map<string, FileContent>();
  readonly links = new Map<string, string>();
  readonly #below: ImageFiles;
  readonly #paths: ReadPaths;
  #kept = 0;

  constructor(below: ImageFiles) {
    this.#below = below;
    this.#paths = below.paths;
  }

  async read({ header, content }: TarEntry): Promise<void> {
    const path = normalizePath(header.name);
    if (path === undefined || path === "" || !this.#isChange(path)) return;
    if (this.files.size + this.removed.size + this.links.size > MAX_CHANGES)
      throw new Unreadable(`the layer changes more than ${MAX_CHANGES} files of package databases`);
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (name.startsWith(WHITEOUT)) this.#whiteOut(path, name);
    else if (header.type !== "directory" || this.#paths.kindOf(path) !== undefined) this.#remove(path);
    if (header.type === "symlink") this.#link(path, header.linkname ?? "");
    const isKept = this.#paths.kindOf(path) !== undefined && !name.startsWith(WHITEOUT);
    if (isKept && this.#isReadable(path, header)) this.files.set(path, await buffer(content));
  }

  #isChange(path: string): boolean {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return name.startsWith(WHITEOUT) || this.#paths.isOnTheWay(path);
  }

  #whiteOut(path: string, name: string): void {
    const folder = path.slice(0, -name.length - 1);
    if (name === OPAQUE) {
      if (this.#paths.isOnTheWay(folder)) this.opaque.add(folder);
      return;
    }
    const target = path.slice(0, -name.length) + name.slice(WHITEOUT.length);
    if (this.#paths.isOnTheWay(target)) this.removed.add(target);
  }

  #link(path: string, target: string): void {
    if (target.length <= MAX_TARGET_LENGTH) this.links.set(path, target);
  }

  /** A file that is not a folder replaces everything that was at and below its path. */
  #remove(path: string): void {
    this.removed.add(path);
    this.files.delete(path);
    this.links.delete(path);
    if (this.#paths.kindOf(path) !== undefined) return;
    for (const kept of [this.files, this.links]) for (const file of kept.keys()) if (file.startsWith(`${path}/`)) kept.delete(file);
  }

  #isReadable(path: string, { type, size = 0, linkname }: TarHeader): boolean {
    if (type === "link") {
      const target = normalizePath(linkname ?? "") ?? "";
      this.files.set(path, this.files.get(target) ?? this.#below.get(target) ?? "a link to a file that is not read");
    }
    if (type !== "file" && type !== "contiguous-file") return false;
    if (size > MAX_FILE) {
      this.files.set(path, `larger than ${MAX_FILE >> 20} MiB`);
      return false;
    }
    this.#kept += size;
    if (this.#kept > MAX_KEPT) throw new Unreadable(`the package databases are larger than ${MAX_KEPT >> 20} MiB`);
    return true;
  }
}
