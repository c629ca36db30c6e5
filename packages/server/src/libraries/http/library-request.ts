/** One request to a library on its way through the handlers of its protocol, and the ways to answer it. */
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { assertTermsAccepted, type RequiredTerms } from "../../api/call/required-terms.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { answerEmpty, begin, type Headers, type HttpRequest, type HttpResponse } from "../../http/http-exchange.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import type { Clock } from "../../lib/clock.ts";
import type { EventNames } from "../../outbox/outbox.ts";
import { type Library, type LibraryCaller, openLibrary } from "../library.ts";
import type { LibraryChange, LibraryOrigin } from "../library-event.ts";
import type { Staging } from "../stage.ts";
import { LibraryRefusal } from "./error.ts";

/** What the handlers work with. */
export interface LibraryParts {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly staging: Staging;
  readonly names: EventNames;
  readonly clock: Clock;
  readonly memory: RequestMemory;
  readonly requiredTerms: RequiredTerms;
  /** How long a transfer may pause. */
  readonly transferIdleMs: number;
}

export interface LibraryRequest {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  /** As the client wrote it. */
  readonly owner: string;
  /** What follows the owner, decoded; the last is empty where the path ends in a slash. */
  readonly path: readonly string[];
  readonly caller: LibraryCaller;
  readonly origin: LibraryOrigin;
}

/** Serves what is below an owner; the library is for it to open. */
export type LibraryProtocol = (exchange: LibraryRequest, parts: LibraryParts) => Promise<void>;

export function openForReading({ owner, caller }: LibraryRequest, ecosystem: Ecosystem, { store }: LibraryParts): Promise<Library> {
  return openLibrary(store.reader, owner, ecosystem, caller, "read");
}

export async function openForPublishing(
  { owner, caller }: LibraryRequest,
  ecosystem: Ecosystem,
  { store, requiredTerms }: LibraryParts,
): Promise<Library> {
  const library = await openLibrary(store.reader, owner, ecosystem, caller, "publish");
  await assertTermsAccepted(library.groupUid, requiredTerms, store.reader);
  return library;
}

/** What the request changes happens now, and is told as its caller's doing. */
export function changeBy({ origin }: LibraryRequest, { clock, names }: LibraryParts): LibraryChange {
  return { origin, names, now: clock.now() };
}

/** @throws LibraryRefusal */
export function assertMethod({ method }: LibraryRequest, ...allowed: readonly string[]): void {
  if (!allowed.includes(method)) throw new LibraryRefusal(405, `use ${allowed.join(" or ")} here`, { allow: allowed.join(", ") });
}

/** An answer without a body. */
export function answer({ response }: LibraryRequest, status: number, headers: Headers = {}): void {
  answerEmpty(response, status, headers);
}

export function answerText({ method, response }: LibraryRequest, contentType: string, text: string, headers: Headers = {}): void {
  begin(response, 200, { "content-type": contentType, "content-length": Buffer.byteLength(text), ...headers });
  response.end(method === "HEAD" ? "" : text);
}

/** The body of an answer that has begun. A client that leaves is no error. */
export async function answerStream(
  { response }: LibraryRequest,
  bytes: Readable,
  ...through: readonly (Readable & Writable)[]
): Promise<void> {
  // A file that is being read when the client leaves says so later, when the pipeline does not listen any more.
  bytes.on("error", () => {});
  try {
    await pipeline([bytes, ...through, response]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}
