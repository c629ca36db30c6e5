/** Reports the progress of an import: on a terminal as one line that is rewritten, elsewhere as a line every ten seconds. */
import type { WriteStream } from "node:tty";
import type { ImportProgress } from "../libraries/import/import.ts";

export interface ImportReport extends Disposable {
  /** @param bytes total size of the import */
  begin(bytes: number): void;
  /** Cheap: output is throttled. */
  progress(progress: ImportProgress): void;
  problem(path: string, reason: string): void;
}

const TERMINAL_MS = 100;
const FILE_MS = 10_000;
const BAR = 24;
const CLEAR = "\r\x1b[2K";

type Output = Pick<WriteStream, "write"> & { readonly isTTY?: boolean; readonly columns?: number };

/** Disposing of it clears the progress line. @param noun plural of the counted things */
export function createImportReport(output: Output, noun = "files", now = () => performance.now()): ImportReport {
  const isTerminal = output.isTTY === true;
  let total = 0;
  let last = now();
  const say = (line: string): void => void output.write(`${isTerminal ? CLEAR : ""}${line}\n`);
  return {
    begin(bytes) {
      total = bytes;
    },
    progress(progress) {
      if (now() - last < (isTerminal ? TERMINAL_MS : FILE_MS)) return;
      last = now();
      if (isTerminal) output.write(`${CLEAR}${lineOf(progress, total, noun, true).slice(0, (output.columns ?? 80) - 1)}`);
      else say(lineOf(progress, total, noun, false));
    },
    problem: (path, reason) => say(printable(`${path}: ${reason}`)),
    [Symbol.dispose]: () => void (isTerminal && output.write(CLEAR)),
  };
}

function lineOf({ files, bytes, problems }: ImportProgress, total: number, noun: string, hasBar: boolean): string {
  // Files may have grown since they were measured.
  const share = total === 0 ? 1 : Math.min(bytes / total, 1);
  const filled = Math.floor(share * BAR);
  const bar = hasBar ? `[${"#".repeat(filled)}${"-".repeat(BAR - filled)}] ` : "";
  const rest = problems === 0 ? "" : `, ${problems} could not be imported`;
  return `${bar}${Math.floor(share * 100)}% ${files} ${noun}, ${sizeText(bytes)} of ${sizeText(total)}${rest}`;
}

function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}

/** Replaces control characters: names and metadata come from others and must not move the cursor. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}
