/** A backup target in a bucket. Loaded only for `s3://` targets, because it loads the client of S3. */
import type { Readable } from "node:stream";
import { readObject } from "../blobs/s3/read-object.ts";
import { S3Bucket } from "../blobs/s3/s3-bucket.ts";
import { describeS3Error, NoSuchObject as NoSuchKey } from "../blobs/s3/s3-errors.ts";
import type { S3Location } from "../blobs/s3/s3-location.ts";
import { writeObject } from "../blobs/s3/write-object.ts";
import { HoltError } from "../lib/errors.ts";
import { createLog } from "../lib/log.ts";
import { type BackupTarget, NoSuchObject, type StoredObject } from "./target.ts";

/** The errors of the target say everything, so the client logs nothing. */
const silent = createLog("silent");

export function openS3Target(location: S3Location): BackupTarget {
  return new S3Target(new S3Bucket({ location, log: silent }));
}

class S3Target implements BackupTarget {
  readonly scratch = undefined;
  readonly #bucket: S3Bucket;

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
  }

  get name(): string {
    return this.#bucket.name;
  }

  write(path: string, content: Readable): Promise<void> {
    return this.#do("write", path, () => writeObject(this.#bucket, path, content));
  }

  async read(path: string): Promise<Readable> {
    return this.#do("read", path, () => readObject(this.#bucket, path));
  }

  async sizeOf(path: string): Promise<number | undefined> {
    try {
      return (await this.#do("read", path, () => this.#bucket.head(path))).size;
    } catch (error) {
      if (error instanceof NoSuchObject) return undefined;
      throw error;
    }
  }

  async *list(folder: string): AsyncIterable<StoredObject> {
    const pages = this.#bucket.list(`${folder}/`)[Symbol.asyncIterator]();
    for (;;) {
      const page = await this.#do("list", folder, () => pages.next());
      if (page.done === true) return;
      for (const { key, size } of page.value) yield { path: key, size };
    }
  }

  remove(path: string): Promise<void> {
    return this.#do("delete", path, () => this.#bucket.remove(path));
  }

  async removeLeftovers(folder: string): Promise<void> {
    await this.#do("list", folder, async () => {
      for (const { key, id } of await this.#bucket.listMultiparts(`${folder}/`)) await this.#bucket.abort(key, id);
    });
  }

  [Symbol.dispose](): void {
    this.#bucket[Symbol.dispose]();
  }

  /** Errors of the bucket speak of the server's blobs. */
  async #do<T>(action: string, path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NoSuchKey) throw new NoSuchObject(`the backup has no ${path}`, { cause: error });
      if (!(error instanceof HoltError)) throw error;
      throw new Error(`cannot ${action} ${this.name}${path}: ${describeS3Error(error)}`, { cause: error });
    }
  }
}
