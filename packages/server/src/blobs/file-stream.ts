/** Writes a stream to a file with bounded memory. */
import type { FileHandle } from "node:fs/promises";
import { PassThrough, type Readable } from "node:stream";
import { returnBuffer, takeBuffer } from "./buffers.ts";

/**
 * A stream that is the sole owner of its chunks, such as the body of an HTTP/1.1 request. appendStream frees the memory
 * of each chunk after copying it: leaving large transfers to the garbage collector would cost more than all other work.
 */
export class OwnedChunks extends PassThrough {}

/**
 * Resolves when the stream has ended or failed and the received bytes are written.
 * @param onBytes receives all bytes once, in order, before they are written
 * @param onWritten receives the length of each completed write
 * @throws errors of the file, but not of the stream
 */
export async function appendStream(
  file: FileHandle,
  bytes: Readable,
  onBytes: (chunk: Buffer) => void,
  onWritten: (length: number) => void,
): Promise<void> {
  await using output = new Output(file, onBytes, onWritten);
  const isOwned = bytes instanceof OwnedChunks;
  await forEachChunk(bytes, (chunk) => {
    const waiting = output.add(chunk);
    if (!isOwned) return waiting;
    if (waiting !== undefined) return waiting.then(() => release(chunk));
    release(chunk);
  });
  await output.flush();
}

/**
 * Fills one buffer while it writes the other. Chunks are copied, because queued small chunks take more memory than
 * their bytes.
 */
class Output implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #onBytes: (chunk: Buffer) => void;
  readonly #onWritten: (length: number) => void;
  #filling = takeBuffer();
  #length = 0;
  #other: Buffer | undefined;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(file: FileHandle, onBytes: (chunk: Buffer) => void, onWritten: (length: number) => void) {
    this.#file = file;
    this.#onBytes = onBytes;
    this.#onWritten = onWritten;
  }

  /** Returns a promise if the caller must wait before it adds more. */
  add(chunk: Buffer): Promise<void> | undefined {
    const copied = chunk.copy(this.#filling, this.#length);
    this.#length += copied;
    if (this.#length < this.#filling.length) return undefined;
    const rest = chunk.subarray(copied);
    if (this.#writing !== undefined) return this.#writing.then(() => this.#next(rest));
    return this.#next(rest);
  }

  #next(rest: Buffer): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#write();
    return rest.length > 0 ? this.add(rest) : undefined;
  }

  #write(): void {
    const full = this.#filling;
    const bytes = full.subarray(0, this.#length);
    this.#filling = this.#other ?? takeBuffer();
    this.#length = 0;
    this.#other = full;
    this.#onBytes(bytes);
    this.#writing = writeAll(this.#file, bytes, this.#onWritten)
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  async flush(): Promise<void> {
    await this.#writing;
    if (this.#length > 0 && this.#failure === undefined) this.#write();
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
    returnBuffer(this.#filling);
    if (this.#other !== undefined) returnBuffer(this.#other);
  }
}

/**
 * Calls `use` for each chunk, and resolves at the end of the stream or on its failure. If `use` fails, it rejects and
 * leaves the rest of the stream unread. The stream's own iterator would copy queued chunks into one, and would destroy
 * the stream, which may be a request that still needs a response.
 */
export function forEachChunk(bytes: Readable, use: (chunk: Buffer) => Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      bytes.off("data", onData).off("end", end).off("close", end);
      bytes.pause();
    };
    // Also on a lost connection or a malformed body: the received bytes are kept.
    const end = () => {
      stop();
      resolve(waiting);
    };
    const fail = (error: unknown) => {
      stop();
      reject(error);
    };
    let waiting: Promise<void> | undefined;
    const onData = (chunk: Buffer) => {
      try {
        waiting = use(chunk);
      } catch (error) {
        return fail(error);
      }
      if (waiting === undefined) return;
      bytes.pause();
      waiting.then(() => bytes.resume(), fail);
    };
    // This listener stays, because an unhandled later error would end the process.
    bytes.on("error", end);
    if (bytes.destroyed || bytes.readableEnded) return resolve();
    bytes.on("data", onData).on("end", end).on("close", end);
  });
}

/** Frees the memory of a chunk that nobody else uses. */
export function release({ buffer, byteLength }: Buffer): void {
  // A slice of a larger buffer must not be freed.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

async function writeAll(file: FileHandle, bytes: Buffer, onWritten: (length: number) => void): Promise<void> {
  // On a full disk a write may be partial before the next one fails.
  for (let start = 0; start < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, start);
    onWritten(bytesWritten);
    start += bytesWritten;
  }
}
