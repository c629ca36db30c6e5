/** The files of an image that are read, as they are after some of its layers (image specification, layer.md, "Applying Changesets"). Pure. */
import { Unreadable } from "./found-package.ts";

/** Of all files that are read together. */
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_FILES = 20_000;

/** What one layer changes of what is read. */
export interface LayerChanges {
  /** Paths that are gone with all that was below them. */
  readonly removed: ReadonlySet<string>;
  /** Folders that lower layers have nothing in any more. */
  readonly opaque: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, FileContent>;
}

/** A text says why there is no content. */
export type FileContent = Buffer | string;

export class ImageFiles {
  #files = new Map<string, FileContent>();

  /** A layer hides what is below it, never what is in itself. @throws Unreadable where the files together are too large */
  apply({ removed, opaque, files }: LayerChanges): void {
    const kept = [...this.#files].filter(
      ([path]) => !ancestorsOf(path).some((above) => removed.has(above) || (above !== path && opaque.has(above))),
    );
    this.#files = new Map([...kept, ...files]);
    const bytes = [...this.#files.values()].reduce((sum, content) => sum + content.length, 0);
    if (bytes <= MAX_BYTES && this.#files.size <= MAX_FILES) return;
    this.#files = new Map();
    throw new Unreadable(`its package databases have more than ${MAX_BYTES >> 20} MiB or ${MAX_FILES} files`);
  }

  get(path: string): FileContent | undefined {
    return this.#files.get(path);
  }

  /** By path. */
  entries(): [path: string, content: FileContent][] {
    return [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** The path itself, and the folders it is in, up to the root. */
function ancestorsOf(path: string): string[] {
  return ["", ...[...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index)), path];
}
