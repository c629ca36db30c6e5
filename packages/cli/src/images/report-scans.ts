/** Tells people on standard error what is missing in a list of packages. */
import { shownText } from "../output/cell.ts";
import type { Row } from "../output/output.ts";
import { scansOf } from "./platforms.ts";

/** @param answer that of the list of packages */
export function reportScans(answer: Row): void {
  const { scans, isComplete } = scansOf(answer);
  if (!isComplete) process.stderr.write("The server is still reading the packages; list them again later.\n");
  for (const { digest, state, error } of scans)
    if (error) process.stderr.write(`${state === "STATE_FAILED" ? "Not" : "Not completely"} read: ${digest}: ${shownText(error)}\n`);
}
