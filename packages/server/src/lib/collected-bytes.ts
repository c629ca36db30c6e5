/** Collects the bytes of a body that arrives in chunks, whose sizes its sender chooses. */

/** Smaller chunks are copied together, because each takes several hundred bytes as an object of its own. */
const SMALL_BYTES = 1024;
const BLOCK_BYTES = 4 * SMALL_BYTES;

export class CollectedBytes {
  readonly #parts: Buffer[] = [];
  /** Small chunks that follow the parts are the first bytes of the block. */
  #block: Buffer | undefined;
  #blockLength = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    const isFirst = this.#length === 0;
    this.#length += chunk.length;
    // Most bodies have one chunk, so the first is not copied.
    if (isFirst || chunk.length >= SMALL_BYTES) this.#addPart(chunk);
    else this.#addSmall(chunk);
  }

  /** The whole body, which is not copied if it came as one chunk. */
  whole(): Buffer {
    this.#endBlock();
    const [first] = this.#parts;
    return first !== undefined && this.#parts.length === 1 ? first : Buffer.concat(this.#parts, this.#length);
  }

  #addPart(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#endBlock();
    this.#parts.push(chunk);
  }

  #addSmall(chunk: Buffer): void {
    if (this.#blockLength + chunk.length > BLOCK_BYTES) this.#endBlock();
    this.#block ??= Buffer.allocUnsafe(BLOCK_BYTES);
    this.#block.set(chunk, this.#blockLength);
    this.#blockLength += chunk.length;
  }

  /** Copies the block, because it may have few bytes. */
  #endBlock(): void {
    if (this.#block === undefined || this.#blockLength === 0) return;
    this.#parts.push(Buffer.from(this.#block.subarray(0, this.#blockLength)));
    this.#blockLength = 0;
  }
}
