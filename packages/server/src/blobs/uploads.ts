/** Memory of a store of blobs about uploads: those in use by this process, and the hashes of their bytes. */
import { createHash, type Hash } from "node:crypto";
import { NoSuchUpload, RangeMismatch } from "./store.ts";

const NAME = /^[a-z0-9-]{1,128}$/;
/** Maximum number of kept hashes. An upload that continues without one is read again at its commit. */
const MAX_HASHES = 4096;

/** Whether an upload can have the name, which is then safe to use in a path. */
export function isUploadName(name: string): boolean {
  return NAME.test(name);
}

/** @throws NoSuchUpload */
export function assertUploadName(name: string): void {
  if (!isUploadName(name)) throw new NoSuchUpload(name);
}

/** Bytes of an upload that an append has received so far. */
export interface UploadProgress {
  size: number;
}

export class BusyUploads {
  readonly #busy = new Map<string, UploadProgress>();

  /** Undefined for an upload that nothing is using. */
  sizeOf(upload: string): number | undefined {
    return this.#busy.get(upload)?.size;
  }

  has(upload: string): boolean {
    return this.#busy.has(upload);
  }

  /**
   * Rejects concurrent use of an upload in this process: a client's mistake, or a retry before the server noticed the lost connection.
   * @throws RangeMismatch
   */
  async use<T>(upload: string, work: (progress: UploadProgress) => Promise<T>): Promise<T> {
    const other = this.#busy.get(upload);
    if (other !== undefined) throw new RangeMismatch(other.size);
    const progress = { size: 0 };
    this.#busy.set(upload, progress);
    try {
      return await work(progress);
    } finally {
      this.#busy.delete(upload);
    }
  }
}

/** SHA-256 of the first `size` bytes of uploads, so that a commit need not read them again. */
export class UploadHashes {
  readonly #hashes = new Map<string, { readonly size: number; readonly hash: Hash }>();

  /**
   * The hash of the first `size` bytes. It is no longer kept, so that a failed append does not leave a hash of too many bytes.
   * @returns undefined if it is not known
   */
  take(upload: string, size: number): Hash | undefined {
    const known = this.#hashes.get(upload);
    this.#hashes.delete(upload);
    if (size === 0) return createHash("sha256");
    return known?.size === size ? known.hash : undefined;
  }

  keep(upload: string, size: number, hash: Hash): void {
    const oldest = this.#hashes.keys().next();
    if (this.#hashes.size >= MAX_HASHES && !oldest.done) this.#hashes.delete(oldest.value);
    this.#hashes.set(upload, { size, hash });
  }

  /** A copy of the hash of exactly `size` bytes, which stays kept. */
  copyOf(upload: string, size: number): Hash | undefined {
    const known = this.#hashes.get(upload);
    return known?.size === size ? known.hash.copy() : undefined;
  }

  delete(upload: string): void {
    this.#hashes.delete(upload);
  }
}
