/** What stands where in a feed's file, as lines of a file beside it, so that the next one is made of it without looking into it. */
import type { FileHandle } from "node:fs/promises";

export interface IndexEntry {
  /** Of the bytes in the feed's file; 0 for advisories that nothing is told of. */
  readonly length: number;
  /** Unpacked. */
  readonly size: number;
  readonly crc: number;
  /** The most recent change, RFC 3339. */
  readonly time: string;
  /** Of the file in an archive; the empty string in a list. */
  readonly name: string;
  /** Of the advisories, without the group's before them. */
  readonly uids: readonly string[];
}

/** Names are escaped as in URLs and uids are hexadecimal: none has a tab or ends a line. */
export function indexLine({ length, size, crc, time, name, uids }: IndexEntry): string {
  return `${length}\t${size}\t${crc}\t${time}\t${name}\t${uids.join(",")}\n`;
}

function entryFromLine(line: string): IndexEntry {
  const [length = "", size = "", crc = "", time = "", name = "", uids = ""] = line.split("\t");
  return { length: Number(length), size: Number(size), crc: Number(crc), time, name, uids: uids.split(",") };
}

const CHUNK = 64 * 1024;

/** In order, some thousand at once. */
export async function* readIndex(file: FileHandle): AsyncIterable<readonly IndexEntry[]> {
  const stream = file.createReadStream({ start: 0, highWaterMark: CHUNK, encoding: "utf8", autoClose: false });
  let rest = "";
  for await (const text of stream) {
    const lines = `${rest}${text as string}`.split("\n");
    rest = lines.pop() ?? "";
    yield lines.map(entryFromLine);
  }
}

/** What tells that an entry is the same as another, beside the advisories that it is of. */
export function fingerprint({ length, size, crc, name, uids }: IndexEntry): string {
  return length === 0 ? `0 ${uids.join(",")}` : `${length} ${size} ${crc} ${name} ${uids.join(",")}`;
}
