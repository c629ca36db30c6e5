/**
 * Staging: receives the bytes of a file and stores them as a blob before the file is checked. So readers of packages read
 * them from a blob, in any order.
 */
import { createHash, randomUUID } from "node:crypto";
import { type Readable, Transform, type TransformCallback } from "node:stream";
import type { BlobRemoval } from "../blobs/removal.ts";
import { type BlobStore, type ByteRange, DigestMismatch } from "../blobs/store.ts";
import { Code, HoltError, internal } from "../lib/errors.ts";
import type { Digests } from "./find-file.ts";
import type { PackageFile } from "./package-archive.ts";

export interface Staged extends Digests {
  readonly upload: string;
  readonly size: number;
}

export interface Staging {
  /**
   * Memory does not grow with the size.
   * @param isComplete is called at the end of the bytes, for sources whose end does not say whether the client has sent everything
   * @throws INVALID_ARGUMENT for more than `maxBytes` or an incomplete file; UNAVAILABLE if the bytes cannot be stored
   */
  stage(bytes: Readable, maxBytes: number, isComplete?: () => boolean): Promise<Staged>;
  /** Streams the bytes, or a range of them. Destroy a stream that is not read to its end. */
  read(staged: Staged, range?: ByteRange): Promise<Readable>;
  /** Calls `work` with the file of the bytes, for parsers on threads, and again if the file was gone. It is valid until `work` ends. */
  withFile<T>(staged: Staged, work: (file: PackageFile) => Promise<T>): Promise<T>;
  /** Stores the bytes again if collection has removed the blob meanwhile. Resolves with the number of bytes. */
  place(staged: Staged): Promise<number>;
  /** Call it at the end, whether the bytes were published or not. */
  discard(staged: Staged, isPublished: boolean): Promise<void>;
}

/** Real packages are far smaller. */
export const MAX_FILE = 16 * 1024 ** 3;

const HASHES = ["sha256", "sha1", "md5", "sha512"] as const;

export function createStaging({ blobs, removal }: { readonly blobs: BlobStore; readonly removal: BlobRemoval }): Staging {
  /** Another upload of the same bytes that is refused removes the blob, because no row refers to it yet. Then it is stored again. */
  async function withBlob<T>({ upload, digest }: Staged, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if ((await blobs.stat(digest)) !== undefined) throw error;
      await blobs.commit(upload, digest);
      return work();
    }
  }

  return {
    async stage(bytes, maxBytes, isComplete = () => true) {
      const upload = randomUUID();
      try {
        const measured = new MeasuredBytes(bytes, maxBytes);
        const size = await blobs.append(upload, measured, 0, "whole");
        if (measured.isTooLarge) throw new HoltError(Code.INVALID_ARGUMENT, `Invalid argument: the file is larger than ${maxBytes} bytes`);
        if (!isComplete()) throw new HoltError(Code.INVALID_ARGUMENT, "Invalid argument: the file is incomplete: the upload was cut off");
        const [sha256 = "", sha1 = "", md5 = "", sha512 = ""] = measured.digests();
        const staged = { upload, digest: `sha256:${sha256}`, size, sha1, md5, sha512 };
        await blobs.commit(upload, staged.digest);
        return staged;
      } catch (error) {
        await blobs.abort(upload).catch(() => {});
        throw error instanceof DigestMismatch ? internal(error) : error;
      }
    },
    read: (staged, range) => withBlob(staged, () => blobs.read(staged.digest, range)),
    withFile: (staged, work) => {
      const { digest, size } = staged;
      return withBlob(staged, () => blobs.withFile(digest, size, (path) => work({ path, size })));
    },
    place: async ({ upload, digest }) => (await blobs.commit(upload, digest)).size,
    async discard({ upload, digest, size }, isPublished) {
      await blobs.abort(upload).catch(() => {});
      // If this fails, collection removes the blob later.
      if (!isPublished) await removal.removeOrphan(digest, size).catch(() => false);
    },
  };
}

/**
 * Passes bytes on, counts and hashes them. Above the limit it stops reading and leaves the source open: the source may be a
 * request that needs an answer.
 */
class MeasuredBytes extends Transform {
  readonly #hashes = HASHES.map((algorithm) => createHash(algorithm));
  readonly #maxBytes: number;
  #size = 0;

  constructor(source: Readable, maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
    // A source that fails ends this stream as well. The caller decides whether the bytes are complete.
    source.once("close", () => this.end()).once("error", () => this.end());
    if (source.destroyed || source.readableEnded) this.end();
    else source.pipe(this);
  }

  get isTooLarge(): boolean {
    return this.#size > this.#maxBytes;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    const wasTooLarge = this.isTooLarge;
    this.#size += chunk.length;
    if (!this.isTooLarge) {
      for (const hash of this.#hashes) hash.update(chunk);
      this.push(chunk);
    }
    done();
    if (this.isTooLarge && !wasTooLarge) this.end();
  }

  digests(): readonly string[] {
    return this.#hashes.map((hash) => hash.digest("hex"));
  }
}
