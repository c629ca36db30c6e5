/**
 * Writes large chunks of an answer in slices, each after the reader has taken the one before. So the server knows the progress of the
 * reader without the internals of sockets and counts the answer's bytes, and a TLS connection encrypts one slice at a time.
 */
import type { Answer } from "./answer.ts";

/**
 * A reader that takes less than this within the idle limit counts as one that does not read. Also the size of the first slices: each costs
 * CPU time, so later ones have the size that the reader takes in half of the limit.
 */
export const SLICE_BYTES = 64 * 1024;
const MAX_SLICE_BYTES = 256 * 1024;

/** The stream below. */
export interface Sink {
  /** @returns false if the writer should wait for 'drain' */
  write(bytes: Uint8Array, onSent: (error?: Error | null) => void): boolean;
  end(): void;
  emit(event: "drain"): unknown;
}

export type OnWritten = (error?: Error | null) => void;

interface Chunk {
  readonly bytes: Uint8Array;
  /** The offset of the next slice. */
  at: number;
  readonly onWritten: OnWritten | undefined;
}

/** Content that many answers share, such as the API's description. It needs no memory per answer. */
const shared = new WeakSet<Uint8Array>();

export function markAsShared(bytes: Uint8Array): void {
  shared.add(bytes);
}

export function isShared(content: string | Uint8Array): boolean {
  return typeof content !== "string" && shared.has(content);
}

export class SlicedOutput {
  readonly #answer: Answer;
  readonly #sink: Sink;
  readonly #chunks: Chunk[] = [];
  #isEnding = false;

  constructor(answer: Answer, sink: Sink) {
    this.#answer = answer;
    this.#sink = sink;
  }

  /** Whether chunks wait for their turn. */
  get isBusy(): boolean {
    return this.#chunks.length > 0;
  }

  /** @returns false if the writer should wait for 'drain' */
  write(bytes: Uint8Array, onWritten?: OnWritten): boolean {
    if (!shared.has(bytes)) this.#answer.add(bytes.length);
    if (!this.isBusy && bytes.length <= SLICE_BYTES) return this.#send(bytes, onWritten);
    this.#chunks.push({ bytes, at: 0, onWritten });
    if (this.#chunks.length === 1) this.#next();
    return false;
  }

  /** Ends the answer after its last chunk. */
  end(): void {
    this.#isEnding = true;
    if (!this.isBusy || this.#isLastSliceSent()) this.#sink.end();
  }

  #send(bytes: Uint8Array, onSent?: OnWritten): boolean {
    return this.#sink.write(bytes, (error) => {
      this.#answer.sent(bytes.length);
      onSent?.(error);
    });
  }

  #next(): void {
    const chunk = this.#chunks[0] as Chunk;
    const length = Math.min(Math.max(SLICE_BYTES, this.#answer.pace), MAX_SLICE_BYTES);
    const slice = chunk.bytes.subarray(chunk.at, chunk.at + length);
    chunk.at += slice.length;
    this.#send(slice, (error) => this.#advance(chunk, error));
    // Ended immediately, so that the end of a response is sent with its last slice.
    if (this.#isEnding && this.#isLastSliceSent()) this.#sink.end();
  }

  #isLastSliceSent(): boolean {
    const [first, second] = this.#chunks;
    return second === undefined && first !== undefined && first.at >= first.bytes.length;
  }

  #advance(chunk: Chunk, error: Error | null | undefined): void {
    if (error) {
      for (const { onWritten } of this.#chunks.splice(0)) onWritten?.(error);
      return;
    }
    if (chunk.at >= chunk.bytes.length) {
      this.#chunks.shift();
      chunk.onWritten?.();
    }
    if (this.isBusy) this.#next();
    else if (!this.#isEnding) this.#sink.emit("drain");
  }
}
