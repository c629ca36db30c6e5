/** Translates file system errors into errors for callers. */
import { HoltError, unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

/**
 * Turns a file system error into UNAVAILABLE and logs it; returns other errors unchanged.
 * @param subject object of the log message, e.g. "a blob"
 */
export function errorFromStorage(error: unknown, subject: string, log: Log): unknown {
  const code = codeOf(error);
  if (error instanceof HoltError || code === "") return error;
  log.error({ err: error }, `cannot store or read ${subject}`);
  const reason = code === "ENOSPC" || code === "EDQUOT" ? "there is no space left for blobs" : "the blob folder cannot be read or written";
  return unavailable(reason, { cause: error });
}

/** The system's error code, such as ENOENT; empty for errors that are not from the system. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" && "syscall" in (error as object) ? code : "";
}
