/** Call metadata of a unary gRPC stream. Computes values that few calls need on demand. */
import type { IncomingHttpHeaders } from "node:http2";
import type { Answer } from "../../http/answer.ts";
import type { TraceHeaders } from "../../lib/tracer.ts";
import type { CallMetadata } from "../call/call.ts";
import { clientText, requestIdOf } from "../call/call-metadata.ts";
import type { CallWait } from "./call-wait.ts";

export class UnaryMetadata implements CallMetadata {
  readonly protocol = "grpc";
  readonly requestId: string;
  readonly alias: string | undefined;
  readonly #headers: IncomingHttpHeaders;
  readonly #answer: Answer;
  readonly #wait: CallWait;

  constructor(headers: IncomingHttpHeaders, answer: Answer, wait: CallWait, alias: string | undefined) {
    this.requestId = requestIdOf(headers);
    this.alias = alias;
    this.#headers = headers;
    this.#answer = answer;
    this.#wait = wait;
  }

  get authorization(): string | undefined {
    return this.#headers.authorization;
  }

  get clientId(): string | undefined {
    return clientText(this.#headers.cgclientid);
  }

  get userAgent(): string | undefined {
    return clientText(this.#headers["user-agent"]);
  }

  get traceHeaders(): TraceHeaders {
    return this.#headers;
  }

  get remoteAddress(): string {
    return this.#answer.client.address;
  }

  identify(caller: string | undefined): void {
    this.#answer.identify(caller);
  }

  collect(bytes: number): void {
    this.#answer.collect(bytes);
  }

  get signal(): AbortSignal {
    return this.#wait.signal;
  }
}
