/** Recognizes archives and compressed data by their first bytes: file names and media types are only claims. Pure. */

export type ArchiveFormat = "zip" | "tar" | "gzip" | "zstd";

/** Bytes that `archiveFormatOf` needs to recognize every format. */
export const FORMAT_BYTES = 512;

const MAGICS: readonly (readonly [ArchiveFormat, Buffer])[] = [
  ["zip", Buffer.from("PK\x03\x04")],
  // The end record of an empty zip.
  ["zip", Buffer.from("PK\x05\x06")],
  ["gzip", Buffer.from([0x1f, 0x8b])],
  ["zstd", Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
];

/** @param start the first `FORMAT_BYTES` bytes, or all of a shorter file */
export function archiveFormatOf(start: Uint8Array): ArchiveFormat | undefined {
  const bytes = Buffer.from(start.buffer, start.byteOffset, start.byteLength);
  const [format] = MAGICS.find(([, magic]) => bytes.subarray(0, magic.length).equals(magic)) ?? [];
  return format ?? (isTar(bytes) ? "tar" : undefined);
}

/** POSIX and GNU tar share the first five characters of the magic in the first header. */
function isTar(bytes: Buffer): boolean {
  return bytes.length >= FORMAT_BYTES && bytes.toString("latin1", 257, 262) === "ustar";
}
