/** Finds the files of packages that a caller names by files and folders. */
import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { usageFailure } from "../failure.ts";

export type Ecosystem = "python" | "java";

export interface PackageFile {
  readonly path: string;
  readonly ecosystem: Ecosystem;
  /** Below the library: the place in a Maven repository. Undefined for Python. */
  readonly place: string | undefined;
  readonly size: number;
}

export interface FindOptions {
  /** Undefined to tell by the names of the files. */
  readonly ecosystem: Ecosystem | undefined;
}

const PYTHON_FILE = /\.(?:whl|tar\.gz)$/;
/** Names that Maven and its servers make themselves: checksums, metadata and marks of clients. */
const MADE_BY_TOOLS = /\.(?:sha1|md5|sha256|sha512|lastUpdated|repositories)$|^maven-metadata.*\.xml$|^resolver-status\.properties$/;

/** Python packages first; POMs are last of their version, because a version without its POM is not yet whole. */
export async function findPackageFiles(paths: readonly string[], { ecosystem }: FindOptions): Promise<PackageFile[]> {
  const found = (await Promise.all(paths.map((path) => filesOf(path, ecosystem)))).flat();
  return found.sort((a, b) => orderOf(a).localeCompare(orderOf(b)));
}

async function filesOf(path: string, ecosystem: Ecosystem | undefined): Promise<PackageFile[]> {
  const root = await stat(path);
  if (root.isFile()) {
    if (ecosystem === "java" || !PYTHON_FILE.test(path))
      throw usageFailure(`${path} is not a Python package`, "name a wheel, a source distribution, or the folder of a Maven repository");
    return [{ path, ecosystem: "python", place: undefined, size: root.size }];
  }
  const names = (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !isHidden(relative(path, join(entry.parentPath, entry.name))))
    .map((entry) => relative(path, join(entry.parentPath, entry.name)).split(sep).join("/"));
  const isJava = ecosystem === "java" || (ecosystem === undefined && names.some((name) => name.endsWith(".pom")));
  const wanted = names.filter((name) => (isJava ? !MADE_BY_TOOLS.test(basename(name)) : PYTHON_FILE.test(name)));
  if (wanted.length === 0) throw usageFailure(`${path} has no ${isJava ? "Java" : "Python"} packages`);
  return Promise.all(
    wanted.map(async (name) => ({
      path: join(path, name),
      ecosystem: isJava ? ("java" as const) : ("python" as const),
      place: isJava ? name : undefined,
      size: (await stat(join(path, name))).size,
    })),
  );
}

function isHidden(path: string): boolean {
  return path.split(sep).some((part) => part.startsWith("."));
}

function orderOf({ place, path }: PackageFile): string {
  if (place === undefined) return `0 ${path}`;
  const folder = place.slice(0, place.lastIndexOf("/"));
  return `1 ${folder} ${place.endsWith(".pom") ? 1 : 0} ${place}`;
}
