/**
 * Reads and writes the index of a feed's file. With it, the next build copies unchanged entries without parsing them.
 */
import type { FileHandle } from "node:fs/promises";

export interface IndexEntry {
  /** Bytes in the feed's file; 0 for advisories for which the format has no content. */
  readonly length: number;
  /** Uncompressed bytes. */
  readonly size: number;
  readonly crc: number;
  /** The latest change, RFC 3339. */
  readonly time: string;
  /** File name in an archive; the empty string in a list. */
  readonly name: string;
  /** Uids of the advisories, without the group's prefix. */
  readonly uids: readonly string[];
}

/** Names are URL-encoded and uids are hexadecimal, so that neither contains a tab or a newline. */
export function indexLine({ length, size, crc, time, name, uids }: IndexEntry): string {
  return `${length}\t${size}\t${crc}\t${time}\t${name}\t${uids.join(",")}\n`;
}

function entryFromLine(line: string): IndexEntry {
  const [length = "", size = "", crc = "", time = "", name = "", uids = ""] = line.split("\t");
  return { length: Number(length), size: Number(size), crc: Number(crc), time, name, uids: uids.split(",") };
}

const CHUNK_BYTES = 64 * 1024;

/** The entries in order, in batches of some thousands. */
export async function* readIndex(file: FileHandle): AsyncIterable<readonly IndexEntry[]> {
  const stream = file.createReadStream({ start: 0, highWaterMark: CHUNK_BYTES, encoding: "utf8", autoClose: false });
  let rest = "";
  for await (const text of stream) {
    const lines = `${rest}${text as string}`.split("\n");
    rest = lines.pop() ?? "";
    yield lines.map(entryFromLine);
  }
}

/** Entries with the same fingerprint have the same advisories and the same content. */
export function fingerprint({ length, size, crc, name, uids }: IndexEntry): string {
  return length === 0 ? `0 ${uids.join(",")}` : `${length} ${size} ${crc} ${name} ${uids.join(",")}`;
}
