/** One registry request on its way through the handlers, and helpers to answer it. */
import type { BlobStore } from "../../blobs/store.ts";
import type { Store } from "../../db/store.ts";
import { answerEmpty, begin, type Headers, type HttpRequest, type HttpResponse } from "../../http/http-exchange.ts";
import type { ProtocolExchange } from "../../http/protocol-frame.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import type { ContentCaller } from "../../iam/content-login/content-callers.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RepoCreationParts } from "../content/create-repo.ts";
import type { KeepManifest } from "../content/keep-manifest.ts";
import type { Origin, RegistryNames } from "../content/oci-events.ts";
import type { PullEvents } from "../content/pull-events.ts";
import type { Uploads } from "../content/uploads.ts";

/** The dependencies of the handlers. */
export interface OciParts {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly uploads: Uploads;
  readonly keepManifest: KeepManifest;
  readonly pulls: PullEvents;
  readonly names: RegistryNames;
  readonly createFolder: RepoCreationParts["createFolder"];
  /** Called after a manifest was pushed. Must not throw. */
  readonly onManifest: () => void;
  readonly parsers: Parsers;
  readonly clock: Clock;
  readonly memory: RequestMemory;
  /** The longest pause of a transfer. */
  readonly transferIdleMs: number;
}

export interface OciRequest {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly method: string;
  /** The name of the repository, as the client wrote it. */
  readonly name: string;
  readonly query: URLSearchParams;
  readonly caller: ContentCaller;
  readonly origin: Origin;
  /** Runs what takes as long as the client likes, without a slot of the process (`http/protocol-frame.ts`). */
  readonly transfer: ProtocolExchange["transfer"];
}

/** Sends a response without a body. */
export function answer({ response }: OciRequest, status: number, headers: Headers = {}): void {
  answerEmpty(response, status, headers);
}

export function answerJson(exchange: OciRequest, body: unknown, headers: Headers = {}): void {
  answerJsonText(exchange, JSON.stringify(body), headers);
}

export function answerJsonText({ request, response }: OciRequest, text: string, headers: Headers = {}): void {
  begin(response, 200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    ...headers,
  });
  response.end(request.method === "HEAD" ? "" : text);
}

/** The link to the next page (RFC 8288). It is a path, because clients know the host. */
export function nextPage(path: string, query: Readonly<Record<string, string>>): string {
  return `<${path}?${new URLSearchParams(query)}>; rel="next"`;
}
