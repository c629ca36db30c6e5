/** The objects and multipart uploads of one bucket; loaded only where HOLT_BLOBS names a bucket. */
import type { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { ByteRange } from "../store.ts";
import { type CopiedObject, copyObject } from "./s3-copy.ts";
import { required } from "./s3-errors.ts";
import type { S3Location } from "./s3-location.ts";
import { type S3BucketOptions, S3Requests } from "./s3-requests.ts";

export interface StoredPart {
  readonly etag: string;
  /** CRC-32 in base64; empty if the service does not compute any. */
  readonly checksum: string;
}

export interface ListedObject {
  readonly key: string;
  readonly size: number;
  readonly time: Date;
}

export interface ListedMultipart {
  readonly key: string;
  readonly id: string;
  readonly time: Date;
}

/** A body, and the number of its bytes. */
export interface ObjectBody {
  readonly body: Readable;
  readonly size: number;
}

/** Headers that the service sends with a presigned download. */
export interface SignedHeaders {
  readonly contentType?: string | undefined;
  readonly contentDisposition?: string | undefined;
  readonly cacheControl?: string | undefined;
}

/** Keys are relative to the location's prefix. All methods throw UNAVAILABLE if the service refuses or does not answer. */
export class S3Bucket implements Disposable {
  readonly #requests: S3Requests;
  readonly #location: S3Location;

  constructor(options: S3BucketOptions) {
    this.#requests = new S3Requests(options);
    this.#location = options.location;
  }

  /** For messages to the operator. */
  get name(): string {
    return `s3://${this.#location.bucket}/${this.#location.prefix}`;
  }

  /** @returns the object's ETag */
  put(key: string, bytes: Buffer | string): Promise<string> {
    const command = new PutObjectCommand({ ...this.#requests.at(key), Body: bytes, ContentLength: Buffer.byteLength(bytes) });
    return this.#requests.do("store an object", async (client) => required((await client.send(command)).ETag));
  }

  /** @throws ObjectDiffers if the object exists */
  async create(key: string, bytes: Buffer | string): Promise<void> {
    const command = new PutObjectCommand({ ...this.#requests.at(key), Body: bytes, IfNoneMatch: "*" });
    await this.#requests.do("create an object", async (client) => required((await client.send(command)).ETag));
  }

  /** @throws NoSuchObject */
  get(key: string, range?: ByteRange): Promise<ObjectBody> {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const command = new GetObjectCommand({ ...this.#requests.at(key), ...(Range !== undefined && { Range }) });
    return this.#requests.do("read an object", async (client) => {
      const { Body, ContentLength: size = 0, ETag } = await client.send(command);
      const body = Body as Readable;
      try {
        required(ETag);
      } catch (error) {
        body.destroy();
        throw error;
      }
      return { body, size };
    });
  }

  /** @throws NoSuchObject */
  head(key: string): Promise<{ readonly size: number; readonly time: Date; readonly etag: string }> {
    const command = new HeadObjectCommand(this.#requests.at(key));
    return this.#requests.do("look for an object", async (client) => {
      const { ContentLength: size = 0, LastModified: time = new Date(0), ETag } = await client.send(command);
      return { size, time, etag: required(ETag) };
    });
  }

  /** Does nothing if there is no such object. In a versioned bucket, its versions stay. */
  async remove(key: string, signal?: AbortSignal): Promise<void> {
    const options = signal === undefined ? {} : { abortSignal: signal };
    await this.#requests.do("delete an object", (client) => client.send(new DeleteObjectCommand(this.#requests.at(key)), options));
  }

  /** All objects whose keys begin with `prefix` and come after `after`, in the order of their keys. */
  async *list(prefix: string, after = ""): AsyncIterable<readonly ListedObject[]> {
    const { bucket: Bucket, prefix: root } = this.#location;
    let token: string | undefined;
    do {
      const place = token === undefined ? { StartAfter: `${root}${after}` } : { ContinuationToken: token };
      const page = await this.#requests.do("list objects", (client) =>
        client.send(
          new ListObjectsV2Command({ Bucket, Prefix: `${root}${prefix}`, ...(after === "" && token === undefined ? {} : place) }),
        ),
      );
      const found = (page.Contents ?? []).map(({ Key = "", Size = 0, LastModified = new Date(0) }) => ({
        key: Key.slice(root.length),
        size: Size,
        time: LastModified,
      }));
      if (found.length > 0) yield found;
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  /**
   * @param isOnly whether nobody else has a multipart upload of the key
   * @returns the id of the multipart upload
   */
  async begin(key: string, isOnly: boolean): Promise<string> {
    let sent = 0;
    const command = new CreateMultipartUploadCommand({ ...this.#requests.at(key), ChecksumAlgorithm: "CRC32" });
    const { id, attempts } = await this.#requests.do("begin an upload", async (client) => {
      sent++;
      const { UploadId, $metadata } = await client.send(command);
      return { id: required(UploadId), attempts: $metadata.attempts ?? 1 };
    });
    // A repeated request may have begun two.
    if (isOnly && sent + attempts > 2) await this.abortAll(key, { except: id });
    return id;
  }

  /** @throws NoSuchMultipart */
  putPart(key: string, id: string, part: number, bytes: Buffer): Promise<StoredPart> {
    const place = { ...this.#requests.at(key), UploadId: id, PartNumber: part };
    const command = new UploadPartCommand({ ...place, Body: bytes, ChecksumAlgorithm: "CRC32" });
    return this.#requests.do("store a part", async (client) => {
      const { ETag, ChecksumCRC32: checksum = "" } = await client.send(command);
      return { etag: required(ETag), checksum };
    });
  }

  /** @returns the object's ETag @throws NoSuchMultipart */
  complete(key: string, id: string, parts: readonly StoredPart[]): Promise<string> {
    const Parts = parts.map(({ etag, checksum }, index) => ({
      PartNumber: index + 1,
      ETag: etag,
      ...(checksum !== "" && { ChecksumCRC32: checksum }),
    }));
    const command = new CompleteMultipartUploadCommand({ ...this.#requests.at(key), UploadId: id, MultipartUpload: { Parts } });
    return this.#requests.do("complete an upload", async (client) => required((await client.send(command)).ETag));
  }

  /** Aborts the multipart uploads of the key, and thereby deletes their parts. */
  async abortAll(key: string, { except = "", before }: { readonly except?: string; readonly before?: Date } = {}): Promise<void> {
    for (const { key: found, id, time } of await this.listMultiparts(key))
      if (found === key && id !== except && (before === undefined || time < before)) await this.abort(key, id);
  }

  /** The first thousand multipart uploads whose keys begin with the prefix. Some services find those of a whole key only. */
  async listMultiparts(prefix: string): Promise<readonly ListedMultipart[]> {
    const { Bucket, Key } = this.#requests.at(prefix);
    const command = new ListMultipartUploadsCommand({ Bucket, Prefix: Key });
    const { Uploads = [] } = await this.#requests.do("list uploads", (client) => client.send(command));
    return Uploads.map(({ Key: key = "", UploadId: id = "", Initiated: time = new Date(0) }) => ({
      key: this.#requests.keyOf(key),
      id,
      time,
    }));
  }

  async abort(key: string, id: string): Promise<void> {
    await this.#requests
      .do("abort an upload", (client) => client.send(new AbortMultipartUploadCommand({ ...this.#requests.at(key), UploadId: id })))
      .catch((error: unknown) => {
        if (!(error instanceof Error && error.name === "NoSuchMultipart")) throw error;
      });
  }

  /** Copies within the bucket. The bytes do not pass this server. @throws NoSuchObject; ObjectDiffers if the source has another ETag */
  copy(source: CopiedObject, key: string): Promise<void> {
    return copyObject(this.#requests, source, { key, multipart: this });
  }

  /** A URL with which anybody can download the object until it expires. */
  presign(key: string, { contentType, contentDisposition, cacheControl }: SignedHeaders, expiresInSeconds: number): Promise<string> {
    const command = new GetObjectCommand({
      ...this.#requests.at(key),
      ...(contentType !== undefined && { ResponseContentType: contentType }),
      ...(contentDisposition !== undefined && { ResponseContentDisposition: contentDisposition }),
      ...(cacheControl !== undefined && { ResponseCacheControl: cacheControl }),
    });
    return this.#requests.do("sign a URL", () => getSignedUrl(this.#requests.signer, command, { expiresIn: expiresInSeconds }));
  }

  [Symbol.dispose](): void {
    this.#requests[Symbol.dispose]();
  }
}
