/** Fetches a feed into a staged file, if it has changed since it was last imported. */
import { createHash } from "node:crypto";
import type { StagedFiles, StagedWriter } from "../../blobs/staged-files.ts";
import type { Clock } from "../../lib/clock.ts";
import { HoltError } from "../../lib/errors.ts";
import { parseRetryAfter } from "../../lib/retry-after.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OutboundError } from "../../outbound/error.ts";
import { failureText } from "../../outbound/failure-text.ts";
import type { OutboundResponse } from "../../outbound/outbound-request.ts";
import type { Fetched } from "./mirror-schedule.ts";

export interface DownloadOptions {
  readonly client: OutboundClient;
  readonly files: StagedFiles;
  readonly clock: Clock;
  readonly maxBytes: number;
  /** From the DNS lookup to the last byte. */
  readonly timeoutMs: number;
  /** Called for each chunk, with the number of bytes so far. */
  readonly onBytes?: (size: number) => void;
}

export interface Feed {
  readonly url: string;
  /** Headers of the answer that was last imported; empty where there was none. */
  readonly etag: string;
  readonly last_modified: string;
}

/** Release pages and object stores redirect twice at most. */
const MAX_REDIRECTS = 5;

/** Undefined where the signal ended it. @param file name of the staged file, which the caller removes */
export async function downloadFeed(feed: Feed, file: string, options: DownloadOptions, signal: AbortSignal): Promise<Fetched | undefined> {
  const { client, files, clock, maxBytes, timeoutMs, onBytes } = options;
  await using target = new Target(files, file);
  try {
    const headers = { accept: "*/*", "accept-encoding": "identity", ...conditionsOf(feed) };
    const onBody = async (chunk: Buffer, received: OutboundResponse["headers"]) => {
      await target.append(chunk, received);
      onBytes?.(target.size);
    };
    const answer = await client.request({ url: feed.url, headers, signal, timeoutMs, maxBytes, onBody, maxRedirects: MAX_REDIRECTS });
    const { status } = answer;
    if (status === 304 && (feed.etag !== "" || feed.last_modified !== "")) return { outcome: "unchanged", status };
    if (status !== 200) {
      const retryAfterMs = parseRetryAfter(answer.headers["retry-after"], clock.now());
      return { outcome: "failed", status, error: `the feed answered with status ${status}`, retryAfterMs };
    }
    if (target.size === 0) return failed(200, "the feed is empty");
    const digest = await target.finish();
    return {
      outcome: "file",
      status,
      size: target.size,
      etag: headerOf(answer, "etag"),
      lastModified: headerOf(answer, "last-modified"),
      digest,
    };
  } catch (error) {
    return failureOf(error);
  }
}

function failureOf(error: unknown): Fetched | undefined {
  if (error instanceof OutboundError)
    return error.reason === "aborted" ? undefined : failed(error.status ?? 0, failureText(error, "the feed"));
  if (error instanceof UnwantedEncoding) return failed(200, error.message);
  // The disk is full or does not answer.
  if (error instanceof HoltError) return failed(200, error.message);
  throw error;
}

function failed(status: number, error: string): Fetched {
  return { outcome: "failed", status, error, retryAfterMs: 0 };
}

/** RFC 9110 §13.1: a server ignores the date where there is an entity tag. */
function conditionsOf({ etag, last_modified: lastModified }: Feed): Record<string, string> {
  return {
    ...(etag !== "" && { "if-none-match": etag }),
    ...(lastModified !== "" && { "if-modified-since": lastModified }),
  };
}

/** A header that can be sent back unchanged; empty where it is missing, too long or not printable. */
function headerOf({ headers }: OutboundResponse, name: string): string {
  const value = headers[name];
  return typeof value === "string" && value.length <= 1024 && /^[\x20-\x7e]*$/.test(value) ? value : "";
}

class UnwantedEncoding extends Error {
  override readonly name = "UnwantedEncoding";
}

class Target implements AsyncDisposable {
  readonly #files: StagedFiles;
  readonly #name: string;
  readonly #hash = createHash("sha256");
  #writer: StagedWriter | undefined;
  size = 0;

  constructor(files: StagedFiles, name: string) {
    this.#files = files;
    this.#name = name;
  }

  async append(chunk: Buffer, headers: OutboundResponse["headers"]): Promise<void> {
    const encoding = headers["content-encoding"] ?? "identity";
    if (encoding !== "identity") throw new UnwantedEncoding("the feed answered with a content encoding that the request did not allow");
    this.#writer ??= await this.#files.create(this.#name);
    this.#hash.update(chunk);
    this.size += chunk.length;
    await this.#writer.append(chunk);
  }

  /** Makes the file durable. @returns its SHA-256 */
  async finish(): Promise<string> {
    await this.#writer?.sync();
    return this.#hash.digest("hex");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer?.[Symbol.asyncDispose]();
  }
}
