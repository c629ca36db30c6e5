/** Bytes that somebody publishes, received and put in place under their digest before anything is known of them: so what they say of themselves can be read like any content. */
import { createHash, randomUUID } from "node:crypto";
import { type Readable, Transform, type TransformCallback } from "node:stream";
import type { BlobRemoval } from "../blobs/removal.ts";
import { type BlobStore, type ByteRange, DigestMismatch } from "../blobs/store.ts";
import { Code, HoltError, internal } from "../lib/errors.ts";
import type { Digests } from "./find-file.ts";

export interface Staged extends Digests {
  readonly upload: string;
  readonly size: number;
}

export interface Staging {
  /**
   * Streams; memory does not grow with the size.
   * @param isWhole asked at the end of the bytes, where the stream's end does not tell whether the client has sent everything
   * @throws INVALID_ARGUMENT for more than `maxBytes`, or where the bytes broke off; UNAVAILABLE where they cannot be stored
   */
  stage(bytes: Readable, maxBytes: number, isWhole?: () => boolean): Promise<Staged>;
  /** The bytes, or some of them. Destroy what is not read to its end. */
  read(staged: Staged, range?: ByteRange): Promise<Readable>;
  /** Puts the bytes in place once more, where collection has taken them meanwhile; resolves with their number. */
  place(staged: Staged): Promise<number>;
  /** To be called at the end, whether or not the bytes were published. */
  discard(staged: Staged, isPublished: boolean): Promise<void>;
}

/** Whoever has larger ones has no packages. */
export const MAX_FILE = 16 * 1024 ** 3;

const HASHES = ["sha256", "sha1", "md5", "sha512"] as const;

export function createStaging({ blobs, removal }: { readonly blobs: BlobStore; readonly removal: BlobRemoval }): Staging {
  return {
    async stage(bytes, maxBytes, isWhole = () => true) {
      const upload = randomUUID();
      try {
        const measured = new Measured(bytes, maxBytes);
        const size = await blobs.append(upload, measured, 0);
        if (measured.isTooLarge) throw new HoltError(Code.INVALID_ARGUMENT, `Invalid argument: the file is larger than ${maxBytes} bytes`);
        if (!isWhole()) throw new HoltError(Code.INVALID_ARGUMENT, "Invalid argument: the file broke off");
        const [sha256 = "", sha1 = "", md5 = "", sha512 = ""] = measured.digests();
        const staged = { upload, digest: `sha256:${sha256}`, size, sha1, md5, sha512 };
        await blobs.commit(upload, staged.digest);
        return staged;
      } catch (error) {
        await blobs.abort(upload).catch(() => {});
        throw error instanceof DigestMismatch ? internal(error) : error;
      }
    },
    read: ({ digest }, range) => blobs.read(digest, range),
    place: async ({ upload, digest }) => (await blobs.commit(upload, digest)).size,
    async discard({ upload, digest, size }, isPublished) {
      await blobs.abort(upload).catch(() => {});
      // Where this fails, collection finds it.
      if (!isPublished) await removal.removeOrphan(digest, size).catch(() => false);
    },
  };
}

/** All bytes once, in order, until there are too many; the rest is left unread then, and the source is not destroyed: it may be a request that wants an answer. */
class Measured extends Transform {
  readonly #hashes = HASHES.map((algorithm) => createHash(algorithm));
  readonly #maxBytes: number;
  #size = 0;

  constructor(source: Readable, maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
    // A source that breaks off ends for who reads this, too; what came of it is for the caller to judge.
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
