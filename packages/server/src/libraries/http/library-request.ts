/** One request to a library on its way through the handlers of its protocol, and helpers to answer it. */

import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { assertTermsAccepted, type RequiredTerms } from "../../api/call/required-terms.ts";
import type { BlobReference } from "../../blobs/references.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { answerEmpty, begin, type Headers, type HttpRequest, type HttpResponse } from "../../http/http-exchange.ts";
import type { ProtocolExchange } from "../../http/protocol-frame.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import type { Clock } from "../../lib/clock.ts";
import type { EventNames } from "../../outbox/outbox.ts";
import { type Library, type LibraryCaller, type OpenLibrary, openLibrary } from "../library.ts";
import type { LibraryChange, LibraryOrigin } from "../library-event.ts";
import type { ReadingContext } from "../publication.ts";
import type { Staging } from "../stage.ts";
import { LibraryRefusal } from "./error.ts";

/** The dependencies of the handlers. */
export interface LibraryParts {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly staging: Staging;
  /** The columns that count for the storage of an organization. */
  readonly blobReferences: readonly BlobReference[];
  readonly parsers: Parsers;
  readonly names: EventNames;
  readonly clock: Clock;
  readonly memory: RequestMemory;
  readonly requiredTerms: RequiredTerms;
  /** The longest pause of a transfer. */
  readonly transferIdleMs: number;
}

export interface LibraryRequest {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  /** The owner as the client wrote it. */
  readonly owner: string;
  /** The decoded segments after the owner. The last one is empty if the path ends in a slash. */
  readonly path: readonly string[];
  readonly caller: LibraryCaller;
  readonly origin: LibraryOrigin;
  /** Runs what takes as long as the client likes, without a slot of the process (`http/protocol-frame.ts`). */
  readonly transfer: ProtocolExchange["transfer"];
}

/** Serves the paths below an owner. The protocol itself opens the library. */
export type LibraryProtocol = (exchange: LibraryRequest, parts: LibraryParts) => Promise<void>;

export function openForReading({ owner, caller }: LibraryRequest, ecosystem: Ecosystem, { store }: LibraryParts): Promise<OpenLibrary> {
  return openLibrary(store.reader, caller, { owner, ecosystem, action: "read" });
}

export async function openForPublishing(
  { owner, caller }: LibraryRequest,
  ecosystem: Ecosystem,
  { store, requiredTerms }: LibraryParts,
): Promise<Library> {
  const library = await openLibrary(store.reader, caller, { owner, ecosystem, action: "publish" });
  await assertTermsAccepted(library.groupUid, requiredTerms, store.reader);
  return library;
}

/** Describes changes by this request: they happen now, and their events name its caller. */
export function changeBy({ origin }: LibraryRequest, { clock, names }: LibraryParts): LibraryChange {
  return { origin, names, now: clock.now() };
}

/** The absolute URL of the folder `files/` of a Python library, as its owner is spelled in the request. */
export function filesUrl({ owner }: LibraryRequest, { names }: LibraryParts): string {
  return `${names.baseUrl}/libraries/python/${encodeURIComponent(owner).replaceAll("%3A", ":")}/files/`;
}

/** The context in which a format reads the package that this request publishes. */
export function readingContext(library: Library, { caller }: LibraryRequest, { staging, parsers, names }: LibraryParts): ReadingContext {
  return { library, staging, parsers, publisher: caller.principal.uid, remediatedLabels: names.profile.remediatedLabels };
}

/** @throws LibraryRefusal */
export function assertMethod({ method }: LibraryRequest, ...allowed: readonly string[]): void {
  if (!allowed.includes(method)) throw new LibraryRefusal(405, `use ${allowed.join(" or ")} here`, { allow: allowed.join(", ") });
}

/** Sends a response without a body. */
export function answer({ response }: LibraryRequest, status: number, headers: Headers = {}): void {
  answerEmpty(response, status, headers);
}

export function answerText({ method, response }: LibraryRequest, contentType: string, text: string, headers: Headers = {}): void {
  begin(response, 200, { "content-type": contentType, "content-length": Buffer.byteLength(text), ...headers });
  response.end(method === "HEAD" ? "" : text);
}

/** Answers with a text whose parts are made while it is sent, so that a long one neither is in memory nor holds up others. */
export async function answerParts(
  exchange: LibraryRequest,
  contentType: string,
  parts: AsyncIterable<string>,
  headers: Headers,
): Promise<void> {
  const all = { "content-type": contentType, ...headers };
  if (exchange.method === "HEAD") return answer(exchange, 200, all);
  begin(exchange.response, 200, all);
  await answerStream(exchange, Readable.from(parts));
}

/** Sends the body of a response whose headers are set. A client that disconnects does not cause an error. */
export async function answerStream(
  { response, transfer }: LibraryRequest,
  bytes: Readable,
  ...through: readonly (Readable & Writable)[]
): Promise<void> {
  // If the client disconnects, a file stream emits its error after the pipeline has removed its listener.
  bytes.on("error", () => {});
  try {
    await transfer(() => pipeline([bytes, ...through, response]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}
