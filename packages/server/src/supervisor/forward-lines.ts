/** Passes the log of a server process on in whole lines, so that the lines of several processes do not mix. */
import type { Readable } from "node:stream";

export interface LineOutput {
  /** @returns false while many bytes wait, until the event `drain` */
  write(text: string): unknown;
  once(event: "drain", listener: () => void): unknown;
}

/** A longer line is cut. */
const MAX_LINE_LENGTH = 1024 * 1024;

export function forwardLines(from: Readable, to: LineOutput): void {
  let rest = "";
  const write = (text: string) => {
    if (to.write(text) !== false) return;
    from.pause();
    to.once("drain", () => from.resume());
  };
  from.setEncoding("utf8");
  from.on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) write(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
    if (rest.length > MAX_LINE_LENGTH) endLine();
  });
  from.on("end", endLine);

  function endLine(): void {
    if (rest !== "") write(`${rest}\n`);
    rest = "";
  }
}
