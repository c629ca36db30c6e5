/** Where in an image package databases are, and os-release. Pure. */

export type FileKind = "apk" | "dpkg" | "rpm" | "rpm-log" | "rpm-foreign" | "os-release";

const RPM_FOLDERS = ["var/lib/rpm", "usr/lib/sysimage/rpm", "usr/share/rpm"];
const STATUS_FOLDER = "var/lib/dpkg/status.d";

const kinds: ReadonlyMap<string, FileKind> = new Map<string, FileKind>([
  ["lib/apk/db/installed", "apk"],
  ["usr/lib/apk/db/installed", "apk"],
  ["var/lib/dpkg/status", "dpkg"],
  ["etc/os-release", "os-release"],
  ["usr/lib/os-release", "os-release"],
  ...RPM_FOLDERS.flatMap((folder): [string, FileKind][] => [
    [`${folder}/rpmdb.sqlite`, "rpm"],
    [`${folder}/rpmdb.sqlite-wal`, "rpm-log"],
    [`${folder}/Packages`, "rpm-foreign"],
    [`${folder}/Packages.db`, "rpm-foreign"],
  ]),
]);

/** Undefined for a file that is not read. */
export function kindOf(path: string): FileKind | undefined {
  return kinds.get(path) ?? (isStatusFile(path) ? "dpkg" : undefined);
}

function isStatusFile(path: string): boolean {
  return path.startsWith(`${STATUS_FOLDER}/`) && !path.includes("/", STATUS_FOLDER.length + 1) && !path.endsWith(".md5sums");
}

/** Folders through which the way to what is read leads. */
const folders: ReadonlySet<string> = new Set(
  [...kinds.keys(), `${STATUS_FOLDER}/any`].flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index))),
);

/** Whether anything that is read is at the path, or below it. */
export function isOnTheWay(path: string): boolean {
  return path === "" || folders.has(path) || kindOf(path) !== undefined;
}

/** The path from the root, as all spellings of it are compared; undefined where it leads out. */
export function normalizePath(name: string): string | undefined {
  const segments = name.split("/").filter((segment) => segment !== "" && segment !== ".");
  return segments.includes("..") ? undefined : segments.join("/");
}
