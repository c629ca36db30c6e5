/** Collects chunks until there is a part. It grows with its content, because most blobs are small. */

/** Bytes of a part. S3 takes at most 10,000 parts of at least 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

export class PartBuffer {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get isFull(): boolean {
    return this.#length === PART_BYTES;
  }

  /** @returns the number of bytes that were taken; the rest belongs into the next part */
  add(chunk: Buffer): number {
    const wanted = Math.min(this.#length + chunk.length, PART_BYTES);
    if (wanted > this.#bytes.length) this.#grow(wanted);
    const taken = chunk.copy(this.#bytes, this.#length, 0, wanted - this.#length);
    this.#length += taken;
    return taken;
  }

  /** The collected bytes. They are valid until the next `add`. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  #grow(wanted: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(PART_BYTES, Math.max(FIRST_BYTES, wanted, this.#bytes.length * 2)));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
