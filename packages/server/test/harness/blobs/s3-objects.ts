/** The objects and multipart uploads of the S3 server of the tests. */
import { createHash, randomUUID } from "node:crypto";

export class S3Refusal extends Error {
  readonly code: string;
  readonly status: number;
  constructor(code: string, status: number) {
    super(code);
    this.code = code;
    this.status = status;
  }
}

export interface S3Object {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly time: Date;
}

export interface Multipart {
  readonly id: string;
  readonly key: string;
  readonly time: Date;
  readonly parts: Map<number, S3Object>;
}

/** S3 refuses smaller parts, except for the last. */
const MIN_PART_BYTES = 5 * 1024 * 1024;

export class S3Objects {
  /** Bytes that the bucket takes, of objects and parts. */
  capacity = Number.POSITIVE_INFINITY;
  /** Objects per page of a list. */
  pageSize = 1000;
  /** Keeps the versions of objects that are deleted or replaced, as a versioned bucket does. */
  readonly versions: { readonly key: string; readonly object: S3Object }[] = [];
  readonly #objects = new Map<string, S3Object>();
  readonly #multiparts = new Map<string, Multipart>();

  has(key: string): boolean {
    return this.#objects.has(key);
  }

  keys(): string[] {
    return [...this.#objects.keys()].sort();
  }

  get(key: string): S3Object {
    const found = this.#objects.get(key);
    if (found === undefined) throw new S3Refusal("NoSuchKey", 404);
    return found;
  }

  /** @param time when it was stored, for tests of old objects */
  put(key: string, bytes: Buffer, time = new Date()): S3Object {
    const object = this.#stored(bytes, time);
    const replaced = this.#objects.get(key);
    if (replaced !== undefined) this.versions.push({ key, object: replaced });
    this.#objects.set(key, object);
    return object;
  }

  delete(key: string): void {
    const object = this.#objects.get(key);
    if (object !== undefined) this.versions.push({ key, object });
    this.#objects.delete(key);
  }

  list(query: URLSearchParams): string {
    const after = query.get("continuation-token") ?? query.get("start-after") ?? "";
    const prefix = query.get("prefix") ?? "";
    const keys = this.keys().filter((key) => key.startsWith(prefix) && key > after);
    const page = keys.slice(0, this.pageSize);
    const next = keys.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    const contents = page.map((key) => {
      const { bytes, time } = this.get(key);
      return `<Contents><Key>${key}</Key><Size>${bytes.length}</Size><LastModified>${time.toISOString()}</LastModified></Contents>`;
    });
    return `<ListBucketResult><IsTruncated>${next !== ""}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`;
  }

  begin(key: string): string {
    const id = randomUUID();
    this.#multiparts.set(id, { id, key, time: new Date(), parts: new Map() });
    return id;
  }

  putPart(id: string, part: number, bytes: Buffer): S3Object {
    const stored = this.#stored(bytes, new Date());
    this.#multipart(id).parts.set(part, stored);
    return stored;
  }

  /** @param request the XML of CompleteMultipartUpload */
  complete(id: string, request: string): S3Object {
    const { key, parts } = this.#multipart(id);
    const wanted = [...request.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = ""]) => ({
      etag: (/<ETag>(.*?)<\/ETag>/.exec(part)?.[1] ?? "").replaceAll("&quot;", '"'),
      number: Number(/<PartNumber>(\d+)<\/PartNumber>/.exec(part)?.[1]),
    }));
    const chosen = wanted.map(({ number, etag }) => {
      const part = parts.get(number);
      if (part === undefined || part.etag !== etag) throw new S3Refusal("InvalidPart", 400);
      return part;
    });
    if (chosen.slice(0, -1).some(({ bytes }) => bytes.length < MIN_PART_BYTES)) throw new S3Refusal("EntityTooSmall", 400);
    this.#multiparts.delete(id);
    return this.put(key, Buffer.concat(chosen.map(({ bytes }) => bytes)));
  }

  abort(id: string): void {
    this.#multipart(id);
    this.#multiparts.delete(id);
  }

  multiparts(prefix = ""): Multipart[] {
    return [...this.#multiparts.values()].filter(({ key }) => key.startsWith(prefix));
  }

  #multipart(id: string): Multipart {
    const found = this.#multiparts.get(id);
    if (found === undefined) throw new S3Refusal("NoSuchUpload", 404);
    return found;
  }

  #stored(bytes: Buffer, time: Date): S3Object {
    const parts = this.multiparts().flatMap((upload) => [...upload.parts.values()]);
    const used = [...this.#objects.values(), ...parts].reduce((sum, object) => sum + object.bytes.length, 0);
    if (used + bytes.length > this.capacity) throw new S3Refusal("QuotaExceeded", 403);
    return { bytes: Buffer.from(bytes), etag: `"${createHash("md5").update(bytes).digest("hex")}"`, time };
  }
}
