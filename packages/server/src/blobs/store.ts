/**
 * Where the bytes of blobs are: the interface that a folder implements, and an S3-compatible store later. Knows digests, not repositories: who may see
 * a blob, and whether it is to stay, is in the database (`registry/uploads.ts` and `registry/gc.ts`, the only users of what writes here).
 */
import type { Readable, Writable } from "node:stream";

/** Bytes of a blob, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface BlobStore extends AsyncDisposable {
  /**
   * Appends to an upload, which an append at 0 begins; resolves with its new size when the stream has ended or failed.
   * What was received stays, so that a client can go on after a lost connection. Memory does not grow with the size.
   * Where it rejects, the rest of the stream is left unread and not destroyed, so that a request can still be answered.
   * @param upload a name of the characters a-z, 0-9 and `-`
   * @param offset must be the upload's present size; one append at a time
   * @throws RangeMismatch otherwise; UNAVAILABLE where the bytes cannot be stored: none of this append's stay then, and the upload can go on later
   */
  append(upload: string, bytes: Readable, offset: number): Promise<number>;
  /** Bytes received so far; undefined where there is no such upload. */
  sizeOfUpload(upload: string): Promise<number | undefined>;
  /**
   * Makes the upload's bytes the blob of that digest: durable, whole and in place when it resolves; where there is such a blob already, that is all.
   * The upload stays until it is aborted and takes no more bytes, so that this can be done again where the blob was removed meanwhile.
   * @throws DigestMismatch where the bytes have another digest, and the upload is gone; NoSuchUpload; UNAVAILABLE where it cannot be stored now
   */
  commit(upload: string, digest: string): Promise<{ readonly size: number }>;
  /** Forgets an upload. One that does not exist is no error. */
  abort(upload: string): Promise<void>;
  /** Uploads that nobody has touched since; for cleaning up. */
  staleUploads(before: Date): AsyncIterable<string>;

  /** `time` is when the bytes were received. */
  stat(digest: string): Promise<{ readonly size: number; readonly time: Date } | undefined>;
  /** The whole blob or those bytes of it, for small ones: each piece is memory of its own. Destroy what is not read to its end. @throws NoSuchBlob; UNAVAILABLE */
  read(digest: string, range?: ByteRange): Promise<Readable>;
  /**
   * Writes those bytes, as fast as they are taken and with memory that depends neither on the blob's size nor on the reader's speed, and ends the stream.
   * @param begin is called when there is something to send, and says where to
   * @throws NoSuchBlob or UNAVAILABLE before `begin` is called; after that, the stream is to be destroyed. A reader that left is no error
   */
  send(digest: string, range: ByteRange, begin: () => Writable): Promise<void>;
  /** One that does not exist is no error. Who reads it reads on. */
  remove(digest: string): Promise<void>;
  /** Digests of all blobs greater than `after`, ascending, some at a time; for collection. */
  list(after?: string): AsyncIterable<readonly string[]>;
}

/** The upload has another size than the client thinks, or somebody else is appending to it. */
export class RangeMismatch extends Error {
  override readonly name = "RangeMismatch";
  /** Its present size. */
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
