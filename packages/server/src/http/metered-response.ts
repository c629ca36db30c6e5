/** The responses of node:http and node:http2, with a count of the bytes that wait for the reader. */
import { ServerResponse } from "node:http";
import { Http2ServerResponse } from "node:http2";
import type { Answer, AnswerCarrier } from "./answer.ts";
import { isShared, type OnWritten, SLICE_BYTES, SlicedOutput } from "./sliced-output.ts";

type Content = string | Uint8Array;

export class MeteredHttp1Response extends ServerResponse implements AnswerCarrier {
  answer: Answer | undefined;
  #output: SlicedOutput | undefined;

  override write(chunk: Content, second?: unknown, third?: unknown): boolean {
    if (this.answer === undefined) return super.write(chunk, second as never, third as never);
    return this.#outputFor(this.answer).write(bytesOf(chunk, second), callbackOf([second, third]));
  }

  override end(chunk?: unknown, second?: unknown, third?: unknown): this {
    const { answer } = this;
    if (answer === undefined || !isContent(chunk)) {
      if (this.#output?.isBusy !== true) return super.end(chunk as never, second as never, third as never);
      return this.#endOutput(this.#output, callbackOf([chunk, second, third]));
    }
    const length = lengthOf(chunk, second);
    if (!this.headersSent) answer.reserveContent(length);
    if (length <= SLICE_BYTES && this.#output?.isBusy !== true) {
      if (!isShared(chunk)) answer.add(length);
      return super.end(chunk, second as never, third as never);
    }
    if (!this.headersSent && !this.hasHeader("content-length")) this.setHeader("content-length", length);
    const output = this.#outputFor(answer);
    output.write(bytesOf(chunk, second));
    return this.#endOutput(output, callbackOf([second, third]));
  }

  /** A pipelined request gets the socket once the earlier responses are complete. */
  isBlocked(): boolean {
    return this.socket === null;
  }

  breakOff(): void {
    this.req.socket.destroy();
  }

  #outputFor(answer: Answer): SlicedOutput {
    this.#output ??= new SlicedOutput(answer, {
      write: (bytes, onSent) => super.write(bytes, onSent),
      end: () => super.end(),
      emit: (event) => this.emit(event),
    });
    return this.#output;
  }

  #endOutput(output: SlicedOutput, onEnd: OnWritten | undefined): this {
    if (onEnd !== undefined) this.once("finish", () => onEnd());
    output.end();
    return this;
  }
}

export class MeteredHttp2Response extends Http2ServerResponse {
  answer: Answer | undefined;
  #output: SlicedOutput | undefined;

  override write(chunk: Content, ...rest: unknown[]): boolean {
    if (this.answer === undefined) return super.write(chunk, ...(rest as []));
    return this.#outputFor(this.answer).write(bytesOf(chunk, rest[0]), callbackOf(rest));
  }

  /** Node's own method would call `write` and then end the stream at once. */
  override end(...given: unknown[]): this {
    const { answer } = this;
    const [chunk, ...rest] = given;
    const hasContent = answer !== undefined && isContent(chunk) && lengthOf(chunk, rest[0]) > 0;
    if (!hasContent && this.#output === undefined) return super.end(...(given as []));
    const output = this.#outputFor(answer as Answer);
    if (hasContent) {
      const bytes = bytesOf(chunk, rest[0]);
      if (!this.headersSent) answer.reserveContent(bytes.length);
      output.write(bytes);
    }
    const onEnd = callbackOf(given);
    if (onEnd !== undefined) this.once("finish", () => onEnd());
    output.end();
    return this;
  }

  #outputFor(answer: Answer): SlicedOutput {
    this.#output ??= new SlicedOutput(answer, {
      write: (bytes, onSent) => super.write(bytes, onSent),
      end: () => super.end(),
      emit: (event) => this.emit(event),
    });
    return this.#output;
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
