/** Decompresses streams within limits, and distinguishes failures of the source from faults of the archive. */
import { pipeline, type Transform } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { ArchiveFormat } from "./archive-format.ts";
import { type ArchiveMeter, archiveErrorFrom, type FallibleBytes } from "./limits.ts";

/** Passes bytes through and keeps the error of their source. */
export class TrackedBytes implements FallibleBytes, AsyncIterable<Uint8Array> {
  readonly #bytes: AsyncIterable<Uint8Array>;
  #failure: unknown;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#bytes = bytes;
  }

  get failure(): unknown {
    return this.#failure;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#bytes;
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }
}

/**
 * Decompresses gzip and zstd. Bytes of other formats pass unchanged, and count against the limits as well.
 * @throws ArchiveError for damaged data or above a limit; otherwise the error of the source
 */
export async function* decompress(
  bytes: AsyncIterable<Uint8Array>,
  format: ArchiveFormat | undefined,
  meter: ArchiveMeter,
): AsyncGenerator<Uint8Array> {
  const source = new TrackedBytes(bytes);
  try {
    for await (const chunk of decompressed(source, format)) {
      meter.addExpanded(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw archiveErrorFrom(error, source, `not valid ${format} data`);
  }
}

function decompressed(bytes: AsyncIterable<Uint8Array>, format: ArchiveFormat | undefined): AsyncIterable<Uint8Array> {
  if (format === "gzip") return transformed(bytes, createGunzip());
  if (format === "zstd") return transformed(bytes, createZstdDecompress());
  return bytes;
}

/** Passes bytes through a transform. However it ends, the source is not being read any more. */
export async function* transformed(bytes: AsyncIterable<Uint8Array>, transform: Transform): AsyncGenerator<Uint8Array> {
  const ended = new Promise<void>((resolve) => {
    pipeline(bytes, transform, () => resolve());
  });
  try {
    yield* transform;
  } finally {
    transform.destroy();
    await ended;
  }
}
