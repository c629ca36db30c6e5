/** One unary gRPC call on an HTTP/2 stream. Calls are many and small, so each has few objects, listeners and promises. */

import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import type { Answer } from "../../http/answer.ts";
import type { Allowance, RequestMemory } from "../../http/request-memory.ts";
import { StreamBody } from "../../http/stream-body.ts";
import type { TransportLimits } from "../../http/transport-limits.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { isOpen } from "../call/authenticate.ts";
import type { Reply } from "../call/call.ts";
import type { Operation } from "../call/operation.ts";
import type { Run } from "../call/run.ts";
import { errorContextOf } from "../status.ts";
import { CallWait } from "./call-wait.ts";
import { decodeBinary } from "./decode-message.ts";
import { frameReply } from "./frame-reply.ts";
import { grpcStatus, statusTrailers } from "./grpc-status.ts";
import { parseGrpcTimeout } from "./grpc-timeout.ts";
import { assertEncoding, PREFIX_BYTES, unframe } from "./message-framing.ts";
import { refuseStream, sendMessage } from "./unary-answer.ts";
import { UnaryMetadata } from "./unary-metadata.ts";

export interface UnaryOptions {
  readonly run: Run;
  readonly profile: VendorProfile;
  readonly limits: TransportLimits;
  readonly memory: RequestMemory;
  readonly log: Log;
}

/** An operation, and the version that the client called if it is an alias. */
export interface UnaryRoute {
  readonly operation: Operation;
  readonly alias: string | undefined;
}

/** A stream with a call whose operation is known. */
export interface UnaryStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly answer: Answer;
  readonly route: UnaryRoute;
}

export class UnaryCall {
  readonly #unary: UnaryStream;
  readonly #options: UnaryOptions;
  readonly #body: StreamBody;
  readonly #wait: CallWait;
  readonly #allowance: Allowance;
  #deadline: NodeJS.Timeout | undefined;
  #hasStarted = false;

  constructor(unary: UnaryStream, options: UnaryOptions) {
    const { stream, answer, route } = unary;
    this.#unary = unary;
    this.#options = options;
    this.#allowance = options.memory.allow(isOpen(route.operation.access), answer);
    this.#wait = new CallWait((reason) => this.#refuse(reason));
    this.#body = new StreamBody(stream, () => this.start());
    answer.onClose = () => this.#leave();
  }

  /** Starts the deadline that the caller has set. Refuses the call if it cannot be read. */
  limitTime(): void {
    try {
      const ms = parseGrpcTimeout(this.#unary.headers["grpc-timeout"]);
      if (ms !== undefined) this.#deadline = setTimeout(() => this.#wait.abort(deadlinePassed()), ms);
    } catch (error) {
      this.#hasStarted = true;
      this.#fail(error);
    }
  }

  /** Does nothing the second time. */
  start(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const { headers, answer, route } = this.#unary;
    const { run, limits } = this.#options;
    this.#body.hold(limits.requestMs);
    const metadata = new UnaryMetadata(headers, answer, this.#wait, route.alias);
    run(route.operation, () => this.#readMessage(), metadata).then(
      (reply) => this.#finish(reply),
      (error) => this.#fail(error),
    );
  }

  #readMessage(): Message | Promise<Message> {
    assertEncoding(this.#encoding);
    const body = this.#body.read(this.#allowance, PREFIX_BYTES);
    return body instanceof Promise ? body.then((whole) => this.#decode(whole)) : this.#decode(body);
  }

  #decode(body: Buffer): Message | Promise<Message> {
    const { input } = this.#unary.route.operation.method;
    const message = unframe(body, this.#encoding, this.#allowance);
    return message instanceof Promise ? message.then((inflated) => decodeBinary(input, inflated)) : decodeBinary(input, message);
  }

  get #encoding(): string | undefined {
    return this.#unary.headers["grpc-encoding"] as string | undefined;
  }

  #finish(reply: Reply): void {
    try {
      if (this.#wait.end()) this.#send(reply);
    } catch (error) {
      this.#refuse(error);
    } finally {
      this.#release();
    }
  }

  #send(reply: Reply): void {
    const { stream, headers, answer, route } = this.#unary;
    const { method, handler } = route.operation;
    const framed = frameReply(method.output, reply);
    // A write has happened, so its reply is sent in any case.
    if (handler?.kind === "read") answer.reserve(framed.length);
    sendMessage(stream, framed, answer, headers["content-type"] as string);
  }

  #fail(error: unknown): void {
    if (this.#wait.end()) this.#refuse(error);
    this.#release();
  }

  #refuse(error: unknown): void {
    const { stream, route } = this.#unary;
    const { profile, log } = this.#options;
    clearTimeout(this.#deadline);
    const context = errorContextOf(route.operation, route.alias, profile);
    refuseStream(stream, statusTrailers(grpcStatus(error, context, log)));
    // Deferred: in the same tick, the reset would overtake the answer, and the client would wait for it.
    if (!stream.readableEnded) setImmediate(() => this.#body.abandon());
  }

  #release(): void {
    clearTimeout(this.#deadline);
    this.#allowance.release();
  }

  /** The stream is closed. */
  #leave(): void {
    this.#body.close();
    // Most streams are closed after their answer. Creating an error with its stack would cost time for nothing.
    if (!this.#wait.hasEnded) this.#wait.abort(new HoltError(Code.CANCELLED, "The caller disconnected"));
  }
}

function deadlinePassed(): HoltError {
  return new HoltError(Code.DEADLINE_EXCEEDED, "The deadline of the call has passed");
}
