/** The paths of package databases and of os-release in an image. Pure. */

export type ImageFileKind = "apk" | "dpkg" | "rpm" | "rpm-log" | "rpm-bdb" | "rpm-foreign" | "os-release";

/** Which files of an image are read. */
export interface ReadPaths {
  /** Undefined for a file that is not read. */
  kindOf(path: string): ImageFileKind | undefined;
  /** Whether a file that is read is at this path or below it. */
  isOnTheWay(path: string): boolean;
}

const RPM_FOLDERS = ["var/lib/rpm", "usr/lib/sysimage/rpm", "usr/share/rpm"];
const STATUS_FOLDER = "var/lib/dpkg/status.d";

const kinds: ReadonlyMap<string, ImageFileKind> = new Map<string, ImageFileKind>([
  ["lib/apk/db/installed", "apk"],
  ["usr/lib/apk/db/installed", "apk"],
  ["var/lib/dpkg/status", "dpkg"],
  ["etc/os-release", "os-release"],
  ["usr/lib/os-release", "os-release"],
  ...RPM_FOLDERS.flatMap((folder): [string, ImageFileKind][] => [
    [`${folder}/rpmdb.sqlite`, "rpm"],
    [`${folder}/rpmdb.sqlite-wal`, "rpm-log"],
    [`${folder}/Packages`, "rpm-bdb"],
    [`${folder}/Packages.db`, "rpm-foreign"],
  ]),
]);

function kindOf(path: string): ImageFileKind | undefined {
  return kinds.get(path) ?? (isStatusFile(path) ? "dpkg" : undefined);
}

function isStatusFile(path: string): boolean {
  return path.startsWith(`${STATUS_FOLDER}/`) && !path.includes("/", STATUS_FOLDER.length + 1) && !path.endsWith(".md5sums");
}

/** The files and folders that are read. */
export const READ_PATHS: readonly string[] = [...kinds.keys(), STATUS_FOLDER];

/** The paths at which packages are installed. */
export const standardPaths: ReadPaths = createReadPaths(new Map());

/** @param aliases real paths of files and folders, with the path of `READ_PATHS` that links to them */
export function createReadPaths(aliases: ReadonlyMap<string, string>): ReadPaths {
  const folders = new Set([...READ_PATHS, `${STATUS_FOLDER}/any`, ...aliases.keys()].flatMap(ancestorsOf));
  const kindAt = (path: string) => kindOf(path) ?? kindBehind(path, aliases);
  return {
    kindOf: kindAt,
    isOnTheWay: (path) => path === "" || folders.has(path) || aliases.has(path) || kindAt(path) !== undefined,
  };
}

function kindBehind(path: string, aliases: ReadonlyMap<string, string>): ImageFileKind | undefined {
  const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  const file = aliases.get(path);
  const parent = aliases.get(folder);
  if (file !== undefined) return kindOf(file);
  return parent === undefined ? undefined : kindOf(parent + path.slice(folder.length));
}

function ancestorsOf(path: string): string[] {
  return [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index));
}

/** The path relative to the root in a canonical spelling; undefined if it leads out of the root. */
export function normalizePath(name: string): string | undefined {
  const segments = name.split("/").filter((segment) => segment !== "" && segment !== ".");
  return segments.includes("..") ? undefined : segments.join("/");
}
