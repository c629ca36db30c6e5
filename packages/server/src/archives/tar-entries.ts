/** The entries of a tar archive as its bytes arrive. Nothing is written to disk. */
import { pipeline } from "node:stream";
import { extract, type Header } from "tar-stream";
import { TrackedBytes } from "./decompress.ts";
import { ArchiveError, type ArchiveMeter, archiveErrorFrom } from "./limits.ts";

export type TarHeader = Header;

const MALFORMED = "not a complete tar archive";
export const GLOBAL_HEADER_PROBLEM = "a global header of the archive has a path or a size, which holds for one entry only";

export interface TarEntry {
  readonly header: TarHeader;
  /** Read it before the next entry is requested, which skips the rest. */
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * @param bytes uncompressed; the caller counts them against the limits
 * @throws ArchiveError for a malformed archive or too many entries; otherwise the error of the source. The same holds for the
 * content of entries
 */
export async function* tarEntries(bytes: AsyncIterable<Uint8Array>, meter: ArchiveMeter): AsyncGenerator<TarEntry> {
  const source = new TrackedBytes(bytes);
  const archive = extract();
  const ended = new Promise<void>((resolve) => {
    pipeline(source, archive, () => resolve());
  });
  try {
    for await (const entry of archive) {
      meter.addEntry();
      assertGlobalHeader(archive);
      yield { header: entry.header, content: contentOf(entry as AsyncIterable<Uint8Array>, source) };
      entry.resume();
    }
  } catch (error) {
    throw archiveErrorFrom(error, source, MALFORMED);
  } finally {
    archive.destroy();
    // The caller can use the source again.
    await ended;
  }
}

/**
 * Refuses a global header that renames entries. Most tools apply it to all entries, but `tar-stream` only to those with a
 * header of their own, so a check of the names would see others than the tools.
 * @throws ArchiveError
 */
function assertGlobalHeader(archive: object): void {
  // The library does not show the header.
  const { _paxGlobal: fields } = archive as { readonly _paxGlobal?: object | null };
  if (["path", "linkpath", "size"].some((field) => fields && Object.hasOwn(fields, field))) throw new ArchiveError(GLOBAL_HEADER_PROBLEM);
}

async function* contentOf(entry: AsyncIterable<Uint8Array>, source: TrackedBytes): AsyncGenerator<Uint8Array> {
  try {
    yield* entry;
  } catch (error) {
    throw archiveErrorFrom(error, source, MALFORMED);
  }
}
