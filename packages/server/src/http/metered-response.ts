/** The responses of node:http and node:http2, with a count of the bytes that wait for the reader. */
import { ServerResponse } from "node:http";
import { Http2ServerResponse } from "node:http2";
import type { Answer, AnswerCarrier } from "./answer.ts";
import { setCommonHeaders } from "./http-exchange.ts";
import { isShared, type OnWritten, SLICE_BYTES, SlicedOutput } from "./sliced-output.ts";

type Content = string | Uint8Array;

/** The methods of Node's own response, and how it ends one. */
interface NodeResponse {
  write(...given: unknown[]): boolean;
  end(...given: unknown[]): unknown;
  /**
   * Whether `end` sends content and the end together: HTTP/1 does. Over HTTP/2, Node calls `write` and then ends the
   * stream at once, so only an end without content may be passed on.
   */
  readonly endsWithContent: boolean;
}

type Metered = (ServerResponse | Http2ServerResponse) & { readonly answer: Answer | undefined };

/** Replaces `write` and `end` of a response. Without an answer, and for what needs no counting, it leaves them to Node. */
class MeteredOutput {
  readonly #response: Metered;
  readonly #node: NodeResponse;
  #output: SlicedOutput | undefined;

  constructor(response: Metered, node: NodeResponse) {
    this.#response = response;
    this.#node = node;
  }

  write(given: readonly unknown[]): boolean {
    const { answer } = this.#response;
    const [chunk, encoding] = given;
    return answer === undefined
      ? this.#node.write(...given)
      : this.#outputFor(answer).write(bytesOf(chunk as Content, encoding), callbackOf(given));
  }

  end(given: readonly unknown[]): void {
    const { answer } = this.#response;
    const [chunk, encoding] = given;
    if (answer !== undefined && isContent(chunk) && lengthOf(chunk, encoding) > 0) {
      if (!this.#writeLast(answer, chunk, given)) return;
    } else if (this.#output?.isBusy !== true) {
      this.#node.end(...given);
      return;
    }
    const onEnd = callbackOf(given);
    if (onEnd !== undefined) this.#response.once("finish", () => onEnd());
    this.#output?.end();
  }

  /** @returns whether the response is still to be ended */
  #writeLast(answer: Answer, chunk: Content, given: readonly unknown[]): boolean {
    const response = this.#response;
    const length = lengthOf(chunk, given[1]);
    if (!response.headersSent) answer.reserveContent(length);
    if (this.#node.endsWithContent) {
      if (length <= SLICE_BYTES && this.#output?.isBusy !== true) {
        if (!isShared(chunk)) answer.add(length);
        this.#node.end(...given);
        return false;
      }
      if (!response.headersSent && !response.hasHeader("content-length")) response.setHeader("content-length", length);
    }
    this.#outputFor(answer).write(bytesOf(chunk, given[1]));
    return true;
  }

  #outputFor(answer: Answer): SlicedOutput {
    this.#output ??= new SlicedOutput(answer, {
      write: (bytes, onSent) => this.#node.write(bytes, onSent),
      end: () => this.#node.end(),
      emit: (event) => this.#response.emit(event),
    });
    return this.#output;
  }
}

type WriteHead = (status: number, ...rest: unknown[]) => unknown;

export class MeteredHttp1Response extends ServerResponse implements AnswerCarrier {
  answer: Answer | undefined;
  #metered: MeteredOutput | undefined;

  /** Node also calls it for a response whose head is implicit, so every response has the common headers. */
  override writeHead(...given: unknown[]): this {
    if (!this.headersSent) setCommonHeaders(this);
    (super.writeHead as WriteHead).apply(this, given as [number]);
    return this;
  }

  override write(...given: unknown[]): boolean {
    return this.#output().write(given);
  }

  override end(...given: unknown[]): this {
    this.#output().end(given);
    return this;
  }

  /**
   * Sends a complete answer that needs no slices, in one write to the socket. The head must have the common headers.
   * @param head names and values in turn
   * @param bytes of the text as UTF-8
   */
  sendAtOnce(status: number, head: readonly string[], text: string, bytes: number): void {
    (super.writeHead as WriteHead).call(this, status, head);
    // A text with as many bytes as characters is ASCII, which node copies instead of converting it.
    super.end(text, bytes === text.length ? "latin1" : "utf8");
    // The kernel has usually taken everything.
    if (this.writableLength > 0) this.answer?.add(bytes);
  }

  /** Only answers that are written in parts need it. */
  #output(): MeteredOutput {
    this.#metered ??= new MeteredOutput(this, {
      write: (...given) => super.write(...(given as [Content])),
      end: (...given) => super.end(...(given as [])),
      endsWithContent: true,
    });
    return this.#metered;
  }

  /** A pipelined request gets the socket once the earlier responses are complete. */
  isBlocked(): boolean {
    return this.socket === null;
  }

  breakOff(): void {
    this.req.socket.destroy();
  }
}

export class MeteredHttp2Response extends Http2ServerResponse {
  static {
    // Its type has the property, but Node's class lacks it.
    Object.defineProperty(MeteredHttp2Response.prototype, "destroyed", {
      get: function (this: Http2ServerResponse): boolean {
        return this.stream.destroyed || this.stream.closed;
      },
    });
  }

  answer: Answer | undefined;
  readonly #metered = new MeteredOutput(this, {
    write: (...given) => super.write(...(given as [Content])),
    end: (...given) => super.end(...(given as [])),
    endsWithContent: false,
  });

  override write(...given: unknown[]): boolean {
    return this.#metered.write(given);
  }

  override end(...given: unknown[]): this {
    this.#metered.end(given);
    return this;
  }
}

function isContent(chunk: unknown): chunk is Content {
  return typeof chunk === "string" || chunk instanceof Uint8Array;
}

function lengthOf(chunk: Content, encoding: unknown): number {
  return typeof chunk === "string" ? Buffer.byteLength(chunk, encodingOf(encoding)) : chunk.length;
}

function bytesOf(chunk: Content, encoding: unknown): Uint8Array {
  return typeof chunk === "string" ? Buffer.from(chunk, encodingOf(encoding)) : chunk;
}

function encodingOf(encoding: unknown): BufferEncoding | undefined {
  return typeof encoding === "string" ? (encoding as BufferEncoding) : undefined;
}

/** The callback is the last parameter, with or without those before it. */
function callbackOf(parameters: readonly unknown[]): OnWritten | undefined {
  return parameters.find((parameter) => typeof parameter === "function") as OnWritten | undefined;
}
