/** Says in words for an operator why a file or folder cannot be used. */

const PROBLEMS: ReadonlyMap<string, string> = new Map([
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
  ["ENOENT", "no such file or folder"],
  ["ENOTDIR", "no such file or folder"],
  ["ELOOP", "too many links"],
  ["ENXIO", "not a regular file"],
  ["ENAMETOOLONG", "the path is too long"],
]);

/** The error for an operator who named a file or folder that cannot be read. */
export function cannotRead(path: string, error: unknown): Error {
  return new Error(`cannot read ${path}: ${fileProblemOf(error)}`, { cause: error });
}

/** Without the path, which the caller reports anyway. */
export function fileProblemOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return PROBLEMS.get(code ?? "") ?? code ?? message;
}
