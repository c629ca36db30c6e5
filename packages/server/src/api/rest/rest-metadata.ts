/** Call metadata of a REST request. Computes values that few calls need on demand. */

import { type HttpRequest, type HttpResponse, remoteAddressOf, wasCutOff } from "../../http/http-exchange.ts";
import type { TraceHeaders } from "../../lib/tracer.ts";
import type { CallMetadata } from "../call/call.ts";
import { clientText } from "../call/call-metadata.ts";

export class RestMetadata implements CallMetadata {
  readonly protocol = "rest";
  readonly requestId: string;
  readonly alias: string | undefined;
  /** Uid; undefined for an anonymous caller, and until the caller is known. */
  caller: string | undefined;
  readonly #request: HttpRequest;
  readonly #response: HttpResponse;
  #signal: AbortSignal | undefined;

  constructor(request: HttpRequest, response: HttpResponse, requestId: string, alias: string | undefined) {
    this.#request = request;
    this.#response = response;
    this.requestId = requestId;
    this.alias = alias;
  }

  get authorization(): string | undefined {
    return this.#request.headers.authorization;
  }

  get clientId(): string | undefined {
    return clientText(this.#request.headers.cgclientid);
  }

  get userAgent(): string | undefined {
    return clientText(this.#request.headers["user-agent"]);
  }

  get traceHeaders(): TraceHeaders {
    return this.#request.headers;
  }

  get remoteAddress(): string {
    return remoteAddressOf(this.#request, this.#response);
  }

  identify(caller: string | undefined): void {
    this.caller = caller;
    this.#response.answer?.identify(caller);
  }

  collect(bytes: number): void {
    this.#response.answer?.collect(bytes);
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response);
    return this.#signal;
  }
}

function signalOf(response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (wasCutOff(response)) controller.abort();
  };
  if (response.destroyed) abort();
  else response.once("close", abort);
  return controller.signal;
}
