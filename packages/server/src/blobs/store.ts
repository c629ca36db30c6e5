/**
 * The interface of the blob store, which holds bytes by digest. It does not know repositories: the database records
 * which callers may read a blob and whether it is still referred to.
 */
import type { Readable, Writable } from "node:stream";
import type { StagedFiles } from "./staged-files.ts";

/** A range of bytes; both offsets are inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * - resumable: any server can continue and commit the upload;
 * - whole: only the caller continues, commits or aborts it, so a store may keep a few MiB of it in memory.
 */
export type UploadUse = "resumable" | "whole";

export interface BlobStore extends AsyncDisposable {
  /** Files that wait for an import, in the same place as the blobs. */
  readonly staged: StagedFiles;
  /**
   * Appends to an upload; an append at offset 0 creates it. Resolves with the new size when the stream has ended or
   * failed.
   * Received bytes are kept, so that a client can continue after a lost connection. Memory use is independent of the
   * size.
   * If it rejects, the rest of the stream is left unread but not destroyed, so that a request can still be answered.
   * @param upload a name of the characters a-z, 0-9 and `-`
   * @param offset must be the current size of the upload
   * @throws RangeMismatch on another offset or a concurrent append; NoSuchUpload on an invalid name or a committed
   * upload; UNAVAILABLE if the bytes cannot be stored: the upload keeps the size that `sizeOfUpload` says, and can
   * continue later
   */
  append(upload: string, bytes: Readable, offset: number, use?: UploadUse): Promise<number>;
  /** Bytes received so far; undefined if there is no such upload. */
  sizeOfUpload(upload: string): Promise<number | undefined>;
  /**
   * Turns the upload into the blob of that digest, unless the blob exists already. The blob is complete and durable
   * when this resolves. The upload stays until it is aborted but accepts no more bytes, so that a commit can be
   * repeated after the blob was removed.
   * @throws DigestMismatch if the bytes have another digest, and deletes the upload; NoSuchUpload; UNAVAILABLE
   */
  commit(upload: string, digest: string): Promise<{ readonly size: number }>;
  /** Deletes an upload. Does nothing if it does not exist. */
  abort(upload: string): Promise<void>;
  /** Uploads without an append since that time, for cleaning up. */
  staleUploads(before: Date): AsyncIterable<string>;

  /** Undefined if there is no such blob. */
  stat(digest: string): Promise<BlobFacts | undefined>;
  /**
   * Whether a recorded blob of that size has lost its bytes, so that it must be stored again. Cheap enough for each
   * HEAD and each manifest; a store whose content cannot get lost may always answer false.
   * @throws UNAVAILABLE if the storage does not answer
   */
  hasLost(digest: string, size: number): Promise<boolean>;
  /**
   * Streams a blob or a range of it. Meant for small blobs, since each chunk is a new buffer. Destroy the stream unless
   * it is read to its end.
   * @throws NoSuchBlob; UNAVAILABLE
   */
  read(digest: string, range?: ByteRange): Promise<Readable>;
  /**
   * Calls `work` with the path of a file that has the bytes of a blob, for parsers on threads. The file may be longer
   * than the blob, and may be missing if the blob is. It is valid until `work` ends.
   * @param size of the blob. A store that is not on this disk copies as many bytes to a temporary file.
   * @throws NoSuchBlob for an invalid digest; UNAVAILABLE
   */
  withFile<T>(digest: string, size: number, work: (path: string) => Promise<T>): Promise<T>;
  /**
   * Writes a range of a blob to a stream and ends the stream. Memory use depends neither on the blob's size nor on the
   * speed of the reader. A reader that disconnects is not an error.
   * @param begin returns the stream; called once the blob is open
   * @throws NoSuchBlob or UNAVAILABLE before `begin` is called; if it rejects later, the caller must destroy the stream
   */
  send(digest: string, range: ByteRange, begin: () => Writable): Promise<void>;
  /**
   * Does nothing if there is no such blob. Open readers can finish.
   * @param signal ends the deletion: it rejects, and no further attempt begins
   */
  remove(digest: string, signal?: AbortSignal): Promise<void>;
  /** All blobs with digests greater than `after`, ascending, in batches; for garbage collection. */
  list(after?: string): AsyncIterable<readonly ListedBlob[]>;
  /**
   * A URL from which clients can download the blob for some minutes, without rights.
   * @returns undefined if the store has no such URLs
   */
  urlOf?(digest: string, headers: Readonly<Record<string, string | number | undefined>>): Promise<string | undefined>;
}

/** A blob in a list, with its facts where the list has them. */
export interface ListedBlob {
  readonly digest: string;
  readonly facts?: BlobFacts;
}

export interface BlobFacts {
  readonly size: number;
  /** When the bytes were received. */
  readonly time: Date;
}

/** The upload has a size other than the client's offset, or another request is appending to it. */
export class RangeMismatch extends Error {
  override readonly name = "RangeMismatch";
  /** The current size of the upload. */
  readonly size: number;
  constructor(size: number) {
    super(`the upload has ${size} bytes`);
    this.size = size;
  }
}

export class DigestMismatch extends Error {
  override readonly name = "DigestMismatch";
}

export class NoSuchUpload extends Error {
  override readonly name = "NoSuchUpload";
}

export class NoSuchBlob extends Error {
  override readonly name = "NoSuchBlob";
}
