/** Checks whether the path of an entry leads out of the folder to which an archive would be extracted. Pure. */

export interface PathRules {
  /** Tools on Windows write backslashes as separators. An ecosystem whose tools never do can refuse them. */
  readonly backslash: "separator" | "refused";
}

/** Absolute paths escape, as do those with a drive letter, a `..` segment or a NUL. */
export function escapesRoot(path: string, { backslash }: PathRules): boolean {
  if (path.includes("\0") || (backslash === "refused" && path.includes("\\"))) return true;
  const normalized = path.replaceAll("\\", "/");
  return normalized.startsWith("/") || /^[a-zA-Z]:/.test(normalized) || normalized.split("/").includes("..");
}
