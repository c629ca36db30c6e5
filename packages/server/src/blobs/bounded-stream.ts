/** Reads a file up to a size that is known, for parsers. */
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";

export interface SizedFile {
  readonly path: string;
  /** The file may be longer. */
  readonly size: number;
}

export function openBoundedStream({ path, size }: SizedFile): Readable {
  const stream = size === 0 ? Readable.from([]) : createReadStream(path, { end: size - 1 });
  // A read that is under way when parsing fails can fail later, when nobody listens.
  return stream.on("error", () => {});
}
