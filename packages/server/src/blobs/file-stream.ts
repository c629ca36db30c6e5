/** Moves a stream's bytes into a file with bounded memory. Knows no blobs. */
import type { FileHandle } from "node:fs/promises";
import { PassThrough, type Readable } from "node:stream";
import { giveBack, takeBuffer } from "./buffers.ts";

/**
 * Bytes on their way whose pieces nobody else has or will look at, such as the body of an HTTP/1.1 request. Their memory is given back when they are
 * copied: to leave it to the garbage collector costs more than all the rest, since so many bytes make it look through everything again and again.
 */
export class OwnedPieces extends PassThrough {}

/**
 * Resolves when the stream has ended or failed, and what came of it is written. `onBytes` sees all bytes once, in order, before they are written;
 * `onWritten` is told how many have reached the file. @throws what the file throws
 */
export async function appendStream(
  file: FileHandle,
  bytes: Readable,
  onBytes: (piece: Buffer) => void,
  onWritten: (length: number) => void,
): Promise<void> {
  await using output = new Output(file, onBytes, onWritten);
  const isOwned = bytes instanceof OwnedPieces;
  await eachPiece(bytes, (piece) => {
    const waiting = output.add(piece);
    if (!isOwned) return waiting;
    if (waiting !== undefined) return waiting.then(() => release(piece));
    release(piece);
  });
  await output.flush();
}

/** One buffer is filled while the other is written. What comes is copied: it is many small pieces, and those that wait cost more than their bytes. */
class Output implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #onBytes: (piece: Buffer) => void;
  readonly #onWritten: (length: number) => void;
  #filling = takeBuffer();
  #length = 0;
  #other: Buffer | undefined;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(file: FileHandle, onBytes: (piece: Buffer) => void, onWritten: (length: number) => void) {
    this.#file = file;
    this.#onBytes = onBytes;
    this.#onWritten = onWritten;
  }

  /** A promise where the caller must wait before it adds more. */
  add(piece: Buffer): Promise<void> | undefined {
    const copied = piece.copy(this.#filling, this.#length);
    this.#length += copied;
    if (this.#length < this.#filling.length) return undefined;
    const rest = piece.subarray(copied);
    if (this.#writing !== undefined) return this.#writing.then(() => this.#next(rest));
    return this.#next(rest);
  }

  #next(rest: Buffer): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#write();
    return rest.length > 0 ? this.add(rest) : undefined;
  }

  #write(): void {
    const [full, length] = [this.#filling, this.#length];
    this.#filling = this.#other ?? takeBuffer();
    this.#length = 0;
    this.#other = full;
    const piece = full.subarray(0, length);
    this.#onBytes(piece);
    this.#writing = writeAll(this.#file, piece, this.#onWritten)
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
    giveBack(this.#filling);
    if (this.#other !== undefined) giveBack(this.#other);
  }
}

/**
 * Resolves when there are no more; rejects with what `take` throws, and the rest is left unread then. The stream's own iterator joins all pieces that
 * wait, by copying; and it destroys the stream, which may be a request whose connection has an answer to carry.
 */
function eachPiece(bytes: Readable, take: (piece: Buffer) => Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      bytes.off("data", onData).off("end", end).off("close", end);
      bytes.pause();
    };
    // A lost connection, or something wrong with what was sent: what came stays.
    const end = () => {
      stop();
      resolve(waiting);
    };
    const fail = (error: unknown) => {
      stop();
      reject(error);
    };
    let waiting: Promise<void> | undefined;
    const onData = (piece: Buffer) => {
      try {
        waiting = take(piece);
      } catch (error) {
        return fail(error);
      }
      if (waiting === undefined) return;
      bytes.pause();
      waiting.then(() => bytes.resume(), fail);
    };
    // It stays: an error that comes later must not end the process.
    bytes.on("error", end);
    if (bytes.destroyed || bytes.readableEnded) return resolve();
    bytes.on("data", onData).on("end", end).on("close", end);
  });
}

function release({ buffer, byteLength }: Buffer): void {
  // Not where it is a part of something larger.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

async function writeAll(file: FileHandle, piece: Buffer, onWritten: (length: number) => void): Promise<void> {
  // A full disk takes the first part and fails on the next.
  for (let start = 0; start < piece.length; ) {
    const { bytesWritten } = await file.write(piece, start);
    onWritten(bytesWritten);
    start += bytesWritten;
  }
}
