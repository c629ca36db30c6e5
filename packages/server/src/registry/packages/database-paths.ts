/** The paths of package databases and of os-release in an image. Pure. */

export type ImageFileKind = "apk" | "dpkg" | "rpm" | "rpm-log" | "rpm-foreign" | "os-release";

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
    [`${folder}/Packages`, "rpm-foreign"],
    [`${folder}/Packages.db`, "rpm-foreign"],
  ]),
]);

/** Undefined for a file that is not read. */
export function kindOf(path: string): ImageFileKind | undefined {
  return kinds.get(path) ?? (isStatusFile(path) ? "dpkg" : undefined);
}

function isStatusFile(path: string): boolean {
  return path.startsWith(`${STATUS_FOLDER}/`) && !path.includes("/", STATUS_FOLDER.length + 1) && !path.endsWith(".md5sums");
}

/** The ancestors of all files that are read. */
const folders: ReadonlySet<string> = new Set(
  [...kinds.keys(), `${STATUS_FOLDER}/any`].flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index))),
);

/** Whether a file that is read is at this path or below it. */
export function isOnTheWay(path: string): boolean {
  return path === "" || folders.has(path) || kindOf(path) !== undefined;
}

/** The path relative to the root in a canonical spelling; undefined if it leads out of the root. */
export function normalizePath(name: string): string | undefined {
  const segments = name.split("/").filter((segment) => segment !== "" && segment !== ".");
  return segments.includes("..") ? undefined : segments.join("/");
}
