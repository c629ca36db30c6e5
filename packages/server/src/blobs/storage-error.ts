/** What it means for a caller that the operating system cannot store or read a file. */
import { HoltError, unavailable } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";

/** What is to be thrown in place of `error`; logged here where it is the system's. @param what could not be stored or read: "a blob" */
export function meaningOf(error: unknown, what: string, log: Log): unknown {
  const code = codeOf(error);
  if (error instanceof HoltError || code === "") return error;
  log.error({ err: error }, `cannot store or read ${what}`);
  const reason = code === "ENOSPC" || code === "EDQUOT" ? "there is no space left for blobs" : "the blobs' folder does not answer";
  return unavailable(reason, { cause: error });
}

/** The system's word for what went wrong, such as ENOENT; empty for errors that are not the system's. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" && "syscall" in (error as object) ? code : "";
}
