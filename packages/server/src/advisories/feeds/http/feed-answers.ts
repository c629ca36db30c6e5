/** Sends feeds, single records of feeds, and the list of feeds of a group. */
import { createHash } from "node:crypto";
import { type BlobStore, NoSuchBlob } from "../../../blobs/store.ts";
import { takesCoding } from "../../../http/accept-encoding.ts";
import { allowLongBody } from "../../../http/body-time.ts";
import { isKnown, type Validators } from "../../../http/conditional-request.ts";
import type { HttpRequest, HttpResponse } from "../../../http/http-exchange.ts";
import type { StoredFile } from "../feed-files.ts";
import { type FeedFormat, feedFormats } from "../feed-format.ts";
import type { Feed, Feeds } from "../feeds.ts";
import { FEEDS_PATH } from "./feed-path.ts";

export interface FeedExchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly group: string;
  /** Whether anonymous callers may read the group. */
  readonly isPublic: boolean;
  /** Whether the caller is anonymous. */
  readonly isAnonymous: boolean;
  readonly blobs: Pick<BlobStore, "send">;
  /** The longest pause of a file's transfer. */
  readonly transferIdleMs: number;
  /** Called when the only work left is to send a file, which takes as long as the client likes. */
  readonly onSend: () => void;
}

export async function answerFeed(exchange: FeedExchange, format: FeedFormat, feeds: Feeds): Promise<void> {
  const feed = await feeds.feed(exchange.group, format, exchange.isAnonymous);
  try {
    await answerFile(exchange, format, feed, feeds);
  } catch (error) {
    if (!(error instanceof NoSuchBlob) || exchange.response.headersSent) throw error;
    // A newer file has replaced it since it was found, or the file is lost.
    await feeds.forget(feed);
    await answerFile(exchange, format, await feeds.feed(exchange.group, format, exchange.isAnonymous), feeds);
  }
}

async function answerFile(exchange: FeedExchange, format: FeedFormat, feed: Feed, feeds: Feeds): Promise<void> {
  const { request } = exchange;
  const isList = format.layout.kind === "list";
  const isGzip = isList && takesCoding(request, "gzip");
  const etags = [`"${feed.sum}"`, `"${feed.sum}-gzip"`];
  const validators = { etags, lastModified: feed.lastModified };
  const headers = { etag: isGzip ? etags[1] : etags[0], ...(isList && { vary: "accept-encoding" }) };
  if (isKnown(request, validators)) answerKnown(exchange, validators, headers);
  else
    await send(exchange, validators, isGzip ? await feeds.gzip(feed) : feed.data, {
      ...headers,
      "content-type": format.contentType,
      ...(isGzip && { "content-encoding": "gzip" }),
    });
}

async function send(exchange: FeedExchange, validators: Validators, { digest, size }: StoredFile, headers: Headers): Promise<void> {
  const { request, response, blobs, transferIdleMs, onSend } = exchange;
  const beginResponse = () => begin(exchange, 200, validators, { ...headers, "content-length": size });
  if (request.method === "HEAD") {
    beginResponse();
    return void response.end();
  }
  await blobs.send(digest, { start: 0, end: size - 1 }, () => {
    beginResponse();
    allowLongBody(request, transferIdleMs);
    onSend();
    return response;
  });
}

export async function answerRecord(exchange: FeedExchange, format: FeedFormat, id: string, feeds: Feeds): Promise<void> {
  const { text, time } = await feeds.record(exchange.group, format, id);
  answerText(exchange, text, time);
}

/** Lists the feeds of a group, without building any. */
export async function answerList(exchange: FeedExchange, baseUrl: string, feeds: Feeds): Promise<void> {
  await feeds.assertGroup(exchange.group);
  const base = `${baseUrl}${FEEDS_PATH}${exchange.group}`;
  const formats = feedFormats.map(({ name, file, contentType, description, layout }) => ({
    format: name,
    description,
    contentType,
    url: `${base}/${file}`,
    ...(layout.kind === "archive" && { recordUrl: `${base}/${name}/{id}.json` }),
  }));
  answerText(exchange, `${JSON.stringify({ group: exchange.group, feeds: formats })}\n`, undefined);
}

function answerText(exchange: FeedExchange, text: string, lastModified: string | undefined): void {
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  const validators = { etags: [etag], lastModified };
  if (isKnown(exchange.request, validators)) {
    answerKnown(exchange, validators, { etag });
    return;
  }
  begin(exchange, 200, validators, { etag, "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  exchange.response.end(exchange.request.method === "HEAD" ? "" : text);
}

function answerKnown(exchange: FeedExchange, validators: Validators, headers: Headers): void {
  begin(exchange, 304, validators, headers);
  exchange.response.end();
}

type Headers = Readonly<Record<string, string | number | undefined>>;

/** Caches must revalidate each time, because a new feed has the same URL. */
function begin({ response, isPublic }: FeedExchange, status: number, { lastModified }: Validators, headers: Headers): void {
  response.statusCode = status;
  response.setHeader("cache-control", isPublic ? "public, no-cache" : "private, no-cache");
  if (lastModified !== undefined) response.setHeader("last-modified", new Date(lastModified).toUTCString());
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
}
