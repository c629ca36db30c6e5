/**
 * An S3 server in memory, which injects faults and counts requests. It checks signatures, checksums, ETags and the size of
 * parts as AWS does. We looked at some S3 servers in the npm registry, and saw none that did all of this and listed
 * multipart uploads.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { type Multipart, type S3Object, S3Objects, S3Refusal } from "./s3-objects.ts";
import { signatureError } from "./s3-signature.ts";

export const S3_CREDENTIALS = { accessKeyId: "holt", secretAccessKey: "holt-secret" };
export const S3_BUCKET = "blobs";

/** A request as tests see it. */
export interface S3Request {
  /** Such as `PutObject`. */
  readonly operation: string;
  readonly key: string;
  readonly presigned: boolean;
}

/**
 * - code: an error of S3;
 * - cut: closes the connection, after as many bytes of the answer's body where there are some;
 * - lose: does the work and closes the connection without an answer;
 * - hang: never answers;
 * - damage: flips a bit of the request's body;
 * - portal: does nothing and answers 200 with a page, as a proxy in front of S3 may.
 */
export type S3Fault =
  | { readonly code: string; readonly status?: number }
  | { readonly cut: number }
  | "lose"
  | "hang"
  | "damage"
  | "portal";

export interface S3Server extends AsyncDisposable {
  readonly url: string;
  readonly requests: S3Request[];
  readonly objects: S3Objects;
  /** Decides about each request. */
  fault: ((request: S3Request) => S3Fault | undefined) | undefined;
  /** Difference to the real clock. */
  skewMs: number;
  /** Settings of a server that uses the bucket. */
  readonly env: Readonly<Record<string, string>>;
}

export async function startS3Server(): Promise<S3Server> {
  const objects = new S3Objects();
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (error instanceof S3Refusal) refuse(response, error.code, error.status);
      else response.destroy();
    });
  });
  const requests: S3Request[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", `http://${request.headers.host}`);
    const seen = requestOf(request, url);
    const fault = s3.fault?.(seen);
    requests.push(seen);
    if (fault === "hang") return;
    const body = await buffer(request);
    if (typeof fault === "object" && "code" in fault) return refuse(response, fault.code, fault.status);
    if (fault === "portal") return void response.writeHead(200, { "content-type": "text/html" }).end("<html>Sign in</html>");
    const refused = signatureError(request, url, S3_CREDENTIALS, new Date(Date.now() + s3.skewMs));
    response.setHeader("date", new Date(Date.now() + s3.skewMs).toUTCString());
    if (refused !== undefined) return refuse(response, refused, 403);
    if (fault === "damage" && body.length > 0) body[0] = (body[0] ?? 0) ^ 1;
    assertIntact(request, body);
    const answer = answerOf(seen, { request, url, body }, objects);
    if (fault === "lose") return void request.socket.destroy();
    response.writeHead(answer.status ?? 200, answer.headers);
    if (typeof fault === "object" && "cut" in fault) {
      response.write((answer.body ?? Buffer.alloc(0)).subarray(0, fault.cut), () => request.socket.destroy());
      return;
    }
    response.end(request.method === "HEAD" ? undefined : answer.body);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const s3: S3Server = {
    url,
    requests,
    objects,
    fault: undefined,
    skewMs: 0,
    env: { HOLT_BLOBS: `s3://${S3_BUCKET}/holt`, HOLT_S3_ENDPOINT: url, HOLT_S3_REGION: "us-east-1", HOLT_S3_PATH_STYLE: "on" },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return s3;
}

interface Given {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly body: Buffer;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string | number>;
  readonly body?: Buffer;
}

function requestOf({ method = "", headers }: IncomingMessage, { pathname, searchParams: query }: URL): S3Request {
  const [, bucket = "", ...path] = pathname.split("/").map(decodeURIComponent);
  const key = path.join("/");
  const isCopy = headers["x-amz-copy-source"] !== undefined;
  const operations: Record<string, string> = {
    PUT: query.has("partNumber") ? (isCopy ? "UploadPartCopy" : "UploadPart") : isCopy ? "CopyObject" : "PutObject",
    GET: key !== "" ? "GetObject" : query.has("uploads") ? "ListMultipartUploads" : "ListObjectsV2",
    HEAD: "HeadObject",
    DELETE: query.has("uploadId") ? "AbortMultipartUpload" : "DeleteObject",
    POST: query.has("uploads") ? "CreateMultipartUpload" : "CompleteMultipartUpload",
  };
  return { operation: bucket === S3_BUCKET ? (operations[method] ?? "") : "NoSuchBucket", key, presigned: query.has("X-Amz-Signature") };
}

function answerOf({ operation, key }: S3Request, { request, url, body }: Given, objects: S3Objects): Answer {
  const { headers } = request;
  const query = url.searchParams;
  const id = query.get("uploadId") ?? "";
  switch (operation) {
    case "PutObject":
      if (headers["if-none-match"] === "*" && objects.has(key)) throw new S3Refusal("PreconditionFailed", 412);
      return { headers: { etag: objects.put(key, body).etag } };
    case "CopyObject":
      return xml(`<CopyObjectResult><ETag>${objects.put(key, sourceOf(headers, objects).bytes).etag}</ETag></CopyObjectResult>`);
    case "HeadObject":
    case "GetObject":
      return objectAnswer(objects.get(key), headers.range, query);
    case "DeleteObject":
      objects.delete(key);
      return { status: 204 };
    case "ListObjectsV2":
      return xml(objects.list(query));
    case "CreateMultipartUpload":
      return xml(`<InitiateMultipartUploadResult><UploadId>${objects.begin(key)}</UploadId></InitiateMultipartUploadResult>`);
    case "UploadPart":
      return {
        headers: { etag: objects.putPart(id, Number(query.get("partNumber")), body).etag, "x-amz-checksum-crc32": checksumOf(body) },
      };
    case "UploadPartCopy": {
      const [start = 0, end = 0] = (/(\d+)-(\d+)/.exec(String(headers["x-amz-copy-source-range"])) ?? []).slice(1).map(Number);
      const bytes = sourceOf(headers, objects).bytes.subarray(start, end + 1);
      return xml(`<CopyPartResult><ETag>${objects.putPart(id, Number(query.get("partNumber")), bytes).etag}</ETag></CopyPartResult>`);
    }
    case "CompleteMultipartUpload":
      return xml(
        `<CompleteMultipartUploadResult><ETag>${objects.complete(id, body.toString()).etag}</ETag></CompleteMultipartUploadResult>`,
      );
    case "AbortMultipartUpload":
      objects.abort(id);
      return { status: 204 };
    case "ListMultipartUploads":
      return xml(listOf(objects.multiparts(query.get("prefix") ?? "")));
    default:
      throw new S3Refusal("NoSuchBucket", 404);
  }
}

function objectAnswer({ bytes, etag, time }: S3Object, range: string | undefined, query: URLSearchParams): Answer {
  const headers: Record<string, string | number> = { etag, "last-modified": time.toUTCString(), "accept-ranges": "bytes" };
  for (const name of ["content-type", "content-disposition", "cache-control"]) {
    const value = query.get(`response-${name}`);
    if (value !== null) headers[name] = value;
  }
  const match = /^bytes=(\d+)-(\d*)$/.exec(range ?? "");
  if (match === null) return { headers: { ...headers, "content-length": bytes.length }, body: bytes };
  const start = Number(match[1]);
  const end = Math.min(match[2] === "" ? Number.POSITIVE_INFINITY : Number(match[2]), bytes.length - 1);
  if (start >= bytes.length) throw new S3Refusal("InvalidRange", 416);
  const part = bytes.subarray(start, end + 1);
  return {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${start}-${end}/${bytes.length}`, "content-length": part.length },
    body: part,
  };
}

function sourceOf(headers: IncomingMessage["headers"], objects: S3Objects): S3Object {
  const [, ...path] = decodeURIComponent(String(headers["x-amz-copy-source"])).replace(/^\//, "").split("/");
  const source = objects.get(path.join("/"));
  const wanted = headers["x-amz-copy-source-if-match"];
  if (wanted !== undefined && wanted !== source.etag) throw new S3Refusal("PreconditionFailed", 412);
  return source;
}

/** Compares the body with the checksums in the headers. */
function assertIntact({ headers }: IncomingMessage, body: Buffer): void {
  if (String(headers["content-encoding"]).includes("aws-chunked")) throw new S3Refusal("NotImplemented", 501);
  const sum = headers["x-amz-checksum-crc32"];
  if (sum !== undefined && sum !== checksumOf(body)) throw new S3Refusal("BadDigest", 400);
  const sha256 = headers["x-amz-content-sha256"];
  if (/^[0-9a-f]{64}$/.test(String(sha256)) && sha256 !== createHash("sha256").update(body).digest("hex"))
    throw new S3Refusal("XAmzContentSHA256Mismatch", 400);
}

function checksumOf(bytes: Buffer): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum.toString("base64");
}

function listOf(multiparts: readonly Multipart[]): string {
  const entries = multiparts.map(
    ({ id, key, time }) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${time.toISOString()}</Initiated></Upload>`,
  );
  return `<ListMultipartUploadsResult>${entries.join("")}</ListMultipartUploadsResult>`;
}

function xml(text: string): Answer {
  return { headers: { "content-type": "application/xml" }, body: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${text}`) };
}

function refuse(response: ServerResponse, code: string, status = code === "SlowDown" ? 503 : 400): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}
