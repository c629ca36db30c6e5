/** Requests to one bucket. The only file that knows the AWS SDK; loaded only where HOLT_BLOBS names a bucket. */
import type { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
  UploadPartCopyCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { Log } from "../../lib/log.ts";
import type { ByteRange } from "../store.ts";
import { errorFromS3, isDamaged } from "./s3-errors.ts";
import type { S3Location } from "./s3-location.ts";

export interface S3BucketOptions {
  readonly location: S3Location;
  readonly log: Log;
  /** Endpoint in URLs for clients, if it differs from that of the location. */
  readonly publicEndpoint?: string;
  /** Longest silence of the service before a request is repeated, in milliseconds. */
  readonly timeoutMs?: number;
}

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

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ATTEMPTS = 5;
const MAX_SOCKETS = 256;
/** S3 copies at most 5 GiB in one request. Smaller parts are copied concurrently. */
const COPY_PART_BYTES = 512 * 1024 * 1024;
const MAX_COPY_PARTS_AT_ONCE = 8;

/** Keys are relative to the location's prefix. All methods throw UNAVAILABLE if the service refuses or does not answer. */
export class S3Bucket implements Disposable {
  readonly #client: S3Client;
  readonly #signer: S3Client;
  readonly #location: S3Location;
  readonly #log: Log;

  constructor({ location, log, publicEndpoint = "", timeoutMs = TIMEOUT_MS }: S3BucketOptions) {
    const { endpoint, region, pathStyle } = location;
    const config: S3ClientConfig = {
      ...(endpoint !== "" && { endpoint }),
      ...(region !== "" && { region }),
      forcePathStyle: pathStyle,
      maxAttempts: MAX_ATTEMPTS,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: timeoutMs,
        throwOnRequestTimeout: true,
        socketTimeout: timeoutMs,
        httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
        httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      },
    };
    this.#client = new S3Client(config);
    this.#signer = publicEndpoint === "" ? this.#client : new S3Client({ ...config, endpoint: publicEndpoint });
    this.#location = location;
    this.#log = log;
  }

  /** For messages to the operator. */
  get name(): string {
    return `s3://${this.#location.bucket}/${this.#location.prefix}`;
  }

  /** @returns the object's ETag */
  async put(key: string, bytes: Buffer | string): Promise<string> {
    const { ETag = "" } = await this.#do("store an object", () =>
      this.#client.send(new PutObjectCommand({ ...this.#at(key), Body: bytes, ContentLength: Buffer.byteLength(bytes) })),
    );
    return ETag;
  }

  /** @throws ObjectDiffers if the object exists */
  async create(key: string, bytes: Buffer | string): Promise<void> {
    await this.#do("create an object", () => this.#client.send(new PutObjectCommand({ ...this.#at(key), Body: bytes, IfNoneMatch: "*" })));
  }

  /** @throws NoSuchObject */
  async get(key: string, range?: ByteRange): Promise<ObjectBody> {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const { Body, ContentLength = 0 } = await this.#do("read an object", () =>
      this.#client.send(new GetObjectCommand({ ...this.#at(key), ...(Range !== undefined && { Range }) })),
    );
    return { body: Body as Readable, size: ContentLength };
  }

  /** @throws NoSuchObject */
  async head(key: string): Promise<{ readonly size: number; readonly time: Date; readonly etag: string }> {
    const {
      ContentLength: size = 0,
      LastModified: time = new Date(0),
      ETag: etag = "",
    } = await this.#do("look for an object", () => this.#client.send(new HeadObjectCommand(this.#at(key))));
    return { size, time, etag };
  }

  /** Does nothing if there is no such object. In a versioned bucket, its versions stay. */
  async remove(key: string, signal?: AbortSignal): Promise<void> {
    const options = signal === undefined ? {} : { abortSignal: signal };
    await this.#do("delete an object", () => this.#client.send(new DeleteObjectCommand(this.#at(key)), options));
  }

  /** All objects whose keys begin with `prefix` and come after `after`, in the order of their keys. */
  async *list(prefix: string, after = ""): AsyncIterable<readonly ListedObject[]> {
    const { bucket: Bucket, prefix: root } = this.#location;
    let token: string | undefined;
    do {
      const place = token === undefined ? { StartAfter: `${root}${after}` } : { ContinuationToken: token };
      const page = await this.#do("list objects", () =>
        this.#client.send(
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
    const command = new CreateMultipartUploadCommand({ ...this.#at(key), ChecksumAlgorithm: "CRC32" });
    const { UploadId = "", $metadata } = await this.#do("begin an upload", () => {
      sent++;
      return this.#client.send(command);
    });
    // A repeated request may have begun two.
    if (isOnly && sent + ($metadata.attempts ?? 1) > 2) await this.abortAll(key, { except: UploadId });
    return UploadId;
  }

  /** @throws NoSuchMultipart */
  async putPart(key: string, id: string, part: number, bytes: Buffer): Promise<StoredPart> {
    const { ETag: etag = "", ChecksumCRC32: checksum = "" } = await this.#do("store a part", () =>
      this.#client.send(
        new UploadPartCommand({ ...this.#at(key), UploadId: id, PartNumber: part, Body: bytes, ChecksumAlgorithm: "CRC32" }),
      ),
    );
    return { etag, checksum };
  }

  /** @returns the object's ETag @throws NoSuchMultipart */
  async complete(key: string, id: string, parts: readonly StoredPart[]): Promise<string> {
    const Parts = parts.map(({ etag, checksum }, index) => ({
      PartNumber: index + 1,
      ETag: etag,
      ...(checksum !== "" && { ChecksumCRC32: checksum }),
    }));
    const { ETag = "" } = await this.#do("complete an upload", () =>
      this.#client.send(new CompleteMultipartUploadCommand({ ...this.#at(key), UploadId: id, MultipartUpload: { Parts } })),
    );
    return ETag;
  }

  /** Aborts the multipart uploads of the key, and thereby deletes their parts. */
  async abortAll(key: string, { except = "", before }: { readonly except?: string; readonly before?: Date } = {}): Promise<void> {
    for (const { key: found, id, time } of await this.listMultiparts(key))
      if (found === key && id !== except && (before === undefined || time < before)) await this.abort(key, id);
  }

  /** The first thousand multipart uploads whose keys begin with the prefix. Some services find those of a whole key only. */
  async listMultiparts(prefix: string): Promise<readonly ListedMultipart[]> {
    const { Bucket, Key } = this.#at(prefix);
    const command = new ListMultipartUploadsCommand({ Bucket, Prefix: Key });
    const { Uploads = [] } = await this.#do("list uploads", () => this.#client.send(command));
    return Uploads.map(({ Key: key = "", UploadId: id = "", Initiated: time = new Date(0) }) => ({
      key: key.slice(this.#location.prefix.length),
      id,
      time,
    }));
  }

  async abort(key: string, id: string): Promise<void> {
    await this.#do("abort an upload", () => this.#client.send(new AbortMultipartUploadCommand({ ...this.#at(key), UploadId: id }))).catch(
      (error: unknown) => {
        if (!(error instanceof Error && error.name === "NoSuchMultipart")) throw error;
      },
    );
  }

  /** Copies within the bucket. The bytes do not pass this server. @throws NoSuchObject; ObjectDiffers if the source has another ETag */
  async copy(source: { readonly key: string; readonly etag: string; readonly size: number }, key: string): Promise<void> {
    const from = { CopySource: this.#copySource(source.key), ...(source.etag !== "" && { CopySourceIfMatch: source.etag }) };
    if (source.size > COPY_PART_BYTES) return this.#copyInParts(from, source.size, key);
    await this.#do("copy an object", () => this.#client.send(new CopyObjectCommand({ ...this.#at(key), ...from })));
  }

  async #copyInParts(from: { readonly CopySource: string }, size: number, key: string): Promise<void> {
    const id = await this.begin(key, false);
    try {
      const parts: StoredPart[] = [];
      const ranges = Array.from({ length: Math.ceil(size / COPY_PART_BYTES) }, (_, index) => index);
      const copyNext = async () => {
        for (let index = ranges.shift(); index !== undefined; index = ranges.shift()) {
          const start = index * COPY_PART_BYTES;
          const CopySourceRange = `bytes=${start}-${Math.min(start + COPY_PART_BYTES, size) - 1}`;
          const command = new UploadPartCopyCommand({ ...this.#at(key), ...from, UploadId: id, PartNumber: index + 1, CopySourceRange });
          const { CopyPartResult } = await this.#do("copy a part", () => this.#client.send(command));
          parts[index] = { etag: CopyPartResult?.ETag ?? "", checksum: CopyPartResult?.ChecksumCRC32 ?? "" };
        }
      };
      await Promise.all(Array.from({ length: MAX_COPY_PARTS_AT_ONCE }, copyNext));
      await this.complete(key, id, parts);
    } catch (error) {
      await this.abort(key, id).catch(() => {});
      throw error;
    }
  }

  /** A URL with which anybody can download the object until it expires. */
  presign(key: string, { contentType, contentDisposition, cacheControl }: SignedHeaders, expiresInSeconds: number): Promise<string> {
    const command = new GetObjectCommand({
      ...this.#at(key),
      ...(contentType !== undefined && { ResponseContentType: contentType }),
      ...(contentDisposition !== undefined && { ResponseContentDisposition: contentDisposition }),
      ...(cacheControl !== undefined && { ResponseCacheControl: cacheControl }),
    });
    return this.#do("sign a URL", () => getSignedUrl(this.#signer, command, { expiresIn: expiresInSeconds }));
  }

  [Symbol.dispose](): void {
    this.#client.destroy();
    this.#signer.destroy();
  }

  #at(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#location.bucket, Key: `${this.#location.prefix}${key}` };
  }

  #copySource(key: string): string {
    const { Bucket, Key } = this.#at(key);
    return encodeURI(`${Bucket}/${Key}`);
  }

  /** The SDK repeats requests that were throttled, timed out or cut. Damaged bodies are repeated here. */
  async #do<T>(action: string, send: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await send();
      } catch (error) {
        if (!isDamaged(error) || attempt === MAX_ATTEMPTS) throw errorFromS3(error, action, this.#log);
      }
    }
  }
}
