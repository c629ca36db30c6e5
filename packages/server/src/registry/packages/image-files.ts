/**
 * The files of an image that are read, after its layers are applied (OCI image specification, layer.md, "Applying
 * Changesets"). Pure.
 */
import { Unreadable } from "./found-package.ts";

/** Bytes of all files together. */
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_FILES = 20_000;

/** The changes of one layer to the files that are read. */
export interface LayerChanges {
  /** Paths that are removed with everything below them. */
  readonly removed: ReadonlySet<string>;
  /** Folders whose content from lower layers is hidden. */
  readonly opaque: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, FileContent>;
}

/** A string is the reason why there is no content. */
export type FileContent = Buffer | string;

export class ImageFiles {
  #files = new Map<string, FileContent>();

  /**
   * A layer's removals apply to the layers below, not to its own files.
   * @throws Unreadable if the files together are too large
   */
  apply({ removed, opaque, files }: LayerChanges): void {
    const kept = [...this.#files].filter(
      ([path]) => !ancestorsOf(path).some((above) => removed.has(above) || (above !== path && opaque.has(above))),
    );
    this.#files = new Map([...kept, ...files]);
    const bytes = [...this.#files.values()].reduce((sum, content) => sum + content.length, 0);
    if (bytes <= MAX_BYTES && this.#files.size <= MAX_FILES) return;
    this.#files = new Map();
    throw new Unreadable(`the package databases exceed ${MAX_BYTES >> 20} MiB or ${MAX_FILES} files`);
  }

  get(path: string): FileContent | undefined {
    return this.#files.get(path);
  }

  /** Sorted by path. */
  entries(): [path: string, content: FileContent][] {
    return [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** The path and all its folders up to the root, which is the empty string. */
function ancestorsOf(path: string): string[] {
  return ["", ...[...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index)), path];
}
