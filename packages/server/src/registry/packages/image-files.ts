/**
 * The files of an image that are read, after its layers are applied (OCI image specification, layer.md, "Applying
 * Changesets"). Pure.
 */
import { READ_PATHS, type ReadPaths, standardPaths } from "./database-paths.ts";
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
  /** Targets of symbolic links at files that are read, and at their folders. */
  readonly links: ReadonlyMap<string, string>;
}

/** A string is the reason why there is no content. */
export type FileContent = Buffer | string;

/** Symbolic links on the way to one file. */
const MAX_LINKS = 40;

export class ImageFiles {
  readonly paths: ReadPaths;
  #files = new Map<string, FileContent>();
  #links = new Map<string, string>();

  constructor(paths: ReadPaths = standardPaths) {
    this.paths = paths;
  }

  /**
   * A layer's removals apply to the layers below, not to its own files.
   * @throws Unreadable if the files together are too large
   */
  apply({ removed, opaque, files, links }: LayerChanges): void {
    const isKept = (path: string) => !ancestorsOf(path).some((above) => removed.has(above) || (above !== path && opaque.has(above)));
    this.#files = new Map([...[...this.#files].filter(([path]) => isKept(path)), ...files]);
    this.#links = new Map([...[...this.#links].filter(([path]) => isKept(path)), ...links]);
    const bytes = [...this.#files.values()].reduce((sum, content) => sum + content.length, 0);
    if (bytes <= MAX_BYTES && this.#files.size <= MAX_FILES) return;
    this.#files = new Map();
    throw new Unreadable(`the package databases exceed ${MAX_BYTES >> 20} MiB or ${MAX_FILES} files`);
  }

  get(path: string): FileContent | undefined {
    return this.#files.get(path);
  }

  /** Real paths that links lead to and that were not read, with the path that leads there. */
  unreadTargets(): ReadonlyMap<string, string> {
    const targets = READ_PATHS.map((path) => [this.#resolve(path), path] as const);
    return new Map(targets.filter(([target, path]) => target !== path && target !== "" && !this.paths.isOnTheWay(target)));
  }

  /** Follows links; a path that leaves the root stays in the root. The path itself if there are too many links. */
  #resolve(path: string): string {
    let rest = path.split("/");
    let resolved: string[] = [];
    for (let links = 0; rest.length > 0 && links <= MAX_LINKS; ) {
      const [segment = "", ...others] = rest;
      rest = others;
      if (segment === "" || segment === ".") continue;
      if (segment === "..") {
        resolved.pop();
        continue;
      }
      const target = this.#links.get([...resolved, segment].join("/"));
      if (target === undefined) {
        resolved.push(segment);
        continue;
      }
      links++;
      if (target.startsWith("/")) resolved = [];
      rest = [...target.split("/"), ...rest];
    }
    return rest.length > 0 ? path : resolved.join("/");
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
