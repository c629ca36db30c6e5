/** Passes bytes on up to a limit, for what unpacks to more than anybody has room for. */
import { Transform, type TransformCallback } from "node:stream";

export class BoundedStream extends Transform {
  readonly #max: number;
  readonly #refusal: () => Error;
  #size = 0;

  /** @param refusal what the stream fails with beyond `max` bytes */
  constructor(max: number, refusal: () => Error) {
    super();
    this.#max = max;
    this.#refusal = refusal;
  }

  /** What came, with what was refused. */
  get size(): number {
    return this.#size;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#size += chunk.length;
    if (this.#size > this.#max) done(this.#refusal());
    else done(null, chunk);
  }
}
