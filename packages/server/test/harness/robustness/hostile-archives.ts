/** Makes archives that are small to send and long to read. */
import { gzipSync } from "node:zlib";

/** A zip archive of this many empty entries, of which only the directory exists. */
export function zipDirectory(entries: number): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i < entries; i++) {
    const name = Buffer.from(`a${i}`);
    const header = Buffer.alloc(46);
    header.write("PK\x01\x02", "latin1");
    header.writeUInt16LE(20, 4);
    header.writeUInt16LE(20, 6);
    header.writeUInt16LE(0x800, 8);
    header.writeUInt16LE(name.length, 28);
    parts.push(header, name);
  }
  const directory = Buffer.concat(parts);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(entries, 8);
  end.writeUInt16LE(entries, 10);
  end.writeUInt32LE(directory.length, 12);
  return Buffer.concat([directory, end]);
}

/** The header of a tar entry (POSIX ustar). @param fields other texts, by their position */
export function tarHeader(name: string, size: number, type = "0", fields: Readonly<Record<number, string>> = {}): Buffer {
  const header = Buffer.alloc(512);
  header.write(name);
  header.write("0000644\0", 100);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0        ", 136);
  header.write(type, 156);
  header.write("ustar\x0000", 257, "latin1");
  for (const [position, text] of Object.entries(fields)) header.write(text, Number(position), "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

const END = Buffer.alloc(1024);

/** A compressed tar archive of many empty files. */
export function tarOfEntries(entries: number, nameOf: (index: number) => string): Buffer {
  return gzipSync(Buffer.concat([...Array.from({ length: entries }, (_, i) => tarHeader(nameOf(i), 0)), END]));
}

/** A compressed tar archive whose first header continues in a text of this many bytes: `x` for pax, `L` for a long name of GNU. */
export function tarOfLongHeader(type: "x" | "L" | "g", bytes: number): Buffer {
  const text = Buffer.alloc(bytes, type === "L" ? "a" : "30 path=aaaaaaaaaaaaaaaaaaaaa\n");
  return gzipSync(Buffer.concat([tarHeader("long", bytes, type), text, Buffer.alloc((512 - (bytes % 512)) % 512), tarHeader("x", 0), END]));
}
