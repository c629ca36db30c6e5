/**
 * Checks that the links of a source distribution stay in its top folder. A link can lead through another one, so a check
 * of the names alone is not enough. Pure.
 */
import { posix } from "node:path";
import { escapesRoot } from "../../archives/entry-path.ts";
import type { TarHeader } from "../../archives/tar-entries.ts";
import { PYTHON_LIMITS } from "../package-archive.ts";

export class SdistLinks {
  /** Paths of the symbolic links that came before. */
  readonly #symbolic = new Set<string>();

  /** Call it for each entry, in order. @returns what is wrong with the entry */
  findProblem({ name, type, linkname = "" }: TarHeader): string | undefined {
    const path = pathOf(name);
    // A symbolic link may replace another one, but a file would be written to the target of the link.
    if (this.#leadsThrough(type === "symlink" ? posix.dirname(path) : path))
      return `an entry's path leads through a symbolic link: "${name.slice(0, 100)}"`;
    if (type !== "symlink" && type !== "link") return undefined;
    if (linkEscapes(name, type, linkname) || (type === "link" && this.#leadsThrough(pathOf(linkname))))
      return `a link leads out of its folder: "${name.slice(0, 100)}"`;
    if (type === "symlink") this.#symbolic.add(path);
    return undefined;
  }

  /** Whether the path or a folder above it is a symbolic link. */
  #leadsThrough(path: string): boolean {
    if (this.#symbolic.size === 0) return false;
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) if (this.#symbolic.has(path.slice(0, end))) return true;
    return this.#symbolic.has(path);
  }
}

/** Symbolic links are relative to their own folder, hard links to the archive's root. Both must stay in the top folder of the archive. */
function linkEscapes(name: string, type: "symlink" | "link", linkname: string): boolean {
  const target = type === "link" ? linkname : posix.join(posix.dirname(name), linkname);
  return (
    linkname.startsWith("/") ||
    returnsFromFolder(linkname) ||
    escapesRoot(pathOf(target), PYTHON_LIMITS.paths) ||
    topFolderOf(target) !== topFolderOf(name)
  );
}

/** Whether `..` follows the name of a folder. If that is a link, `..` leads to another place than the text says. */
function returnsFromFolder(linkname: string): boolean {
  const segments = linkname.split("/").filter((segment) => segment !== "" && segment !== ".");
  const below = segments.findIndex((segment) => segment !== "..");
  return below >= 0 && segments.includes("..", below);
}

function pathOf(name: string): string {
  return posix.normalize(name).replace(/\/$/, "");
}

function topFolderOf(path: string): string | undefined {
  return pathOf(path).split("/")[0];
}
