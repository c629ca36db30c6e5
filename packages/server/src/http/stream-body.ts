/**
 * Collects the body of an HTTP/2 stream that is served without node's compatibility layer. A small body arrives together with the headers,
 * mostly in the same turn of the event loop, so it is taken from the stream at once. A longer one waits under backpressure until it is read.
 */
import { constants, type ServerHttp2Stream } from "node:http2";
import { CollectedBytes } from "../lib/collected-bytes.ts";
import { limitBodyTime } from "./http2-server.ts";
import { clientLeft } from "./read-body.ts";
import { type Allowance, MessageTooLargeError } from "./request-memory.ts";

/** DATA frames that are taken before somebody reads. Each has up to 16 KiB. */
const EARLY_FRAMES = 2;

/** The reader that waits for the rest of a body. */
interface Waiting {
  readonly allowance: Allowance;
  readonly limit: number;
  resolve(body: Buffer): void;
  reject(error: unknown): void;
}

export class StreamBody {
  readonly #stream: ServerHttp2Stream;
  /** Undefined once the body was refused: what still arrives is discarded, so that the client gets to read the response. */
  #bytes: CollectedBytes | undefined = new CollectedBytes();
  #earlyFrames = 0;
  #waiting: Waiting | undefined;
  #onEnd: (() => void) | undefined;

  /** @param onEnd called at the end of the body, also at that of a stream that was reset */
  constructor(stream: ServerHttp2Stream, onEnd: () => void) {
    this.#stream = stream;
    this.#onEnd = onEnd;
    stream.on("data", (chunk: Buffer) => this.#add(chunk));
    stream.on("end", () => this.#end());
  }

  get #hasEnded(): boolean {
    return this.#onEnd === undefined;
  }

  /** Makes the client wait until the body is read, unless all of it has arrived. @param ms the time that the rest may take */
  hold(ms: number): void {
    if (this.#hasEnded || this.#stream.destroyed) return;
    this.#stream.pause();
    limitBodyTime(this.#stream, ms);
  }

  /**
   * To be called once, when the sender is known.
   * @param overhead how many bytes the body may have in addition to the message
   * @throws MessageTooLargeError; HoltError CANCELLED if the client disconnects early
   */
  read(allowance: Allowance, overhead: number): Buffer | Promise<Buffer> {
    const limit = allowance.messageBytes + overhead;
    try {
      this.#account(this.#bytes?.length ?? 0, allowance, limit);
    } catch (error) {
      this.#discard();
      throw error;
    }
    if (this.#hasEnded) return this.#whole();
    // Checked because past events are not emitted again.
    if (this.#stream.destroyed) throw clientLeft();
    return new Promise((resolve, reject) => {
      this.#waiting = { allowance, limit, resolve, reject };
      this.#stream.resume();
    });
  }

  /** Asks a client that still sends to stop (RFC 9113 §8.1), and discards what it sent. A stream with unread data would not close. */
  abandon(): void {
    this.#stream.close(constants.NGHTTP2_NO_ERROR);
    this.#discard();
  }

  /** To be called when the stream is closed. */
  close(): void {
    if (!this.#hasEnded) this.#waiting?.reject(clientLeft());
  }

  #discard(): void {
    this.#bytes = undefined;
    this.#stream.resume();
  }

  #add(chunk: Buffer): void {
    if (this.#bytes === undefined) return;
    this.#bytes.add(chunk);
    if (this.#waiting !== undefined) this.#accept(chunk.length, this.#waiting);
    else if (++this.#earlyFrames === EARLY_FRAMES) this.#stream.pause();
  }

  #accept(bytes: number, { allowance, limit, reject }: Waiting): void {
    try {
      this.#account(bytes, allowance, limit);
    } catch (error) {
      this.#discard();
      reject(error);
    }
  }

  #account(bytes: number, allowance: Allowance, limit: number): void {
    if (this.#bytes !== undefined && this.#bytes.length > limit) throw new MessageTooLargeError(allowance.messageBytes);
    if (bytes > 0) allowance.take(bytes);
  }

  #end(): void {
    const onEnd = this.#onEnd;
    // A stream is garbage for a while before it is collected. It keeps neither the call nor the body until then.
    this.#onEnd = undefined;
    const { resolve, reject } = this.#waiting ?? {};
    this.#waiting = undefined;
    try {
      resolve?.(this.#whole());
    } catch (error) {
      reject?.(error);
    }
    onEnd?.();
  }

  #whole(): Buffer {
    // A reset stream also ends, but it is closed by then.
    if (this.#stream.closed) throw clientLeft();
    const bytes = this.#bytes ?? new CollectedBytes();
    this.#bytes = undefined;
    return bytes.whole();
  }
}
