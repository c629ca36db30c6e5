/** Writes one length-prefixed gRPC message (message-framing.ts) in the wire format of protobuf, into a buffer that all messages share. */
import { PREFIX_BYTES } from "./message-framing.ts";

const INITIAL_BYTES = 64 * 1024;
const MAX_VARINT_BYTES = 10;

export class FrameWriter {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #at = PREFIX_BYTES;

  begin(): void {
    this.#at = PREFIX_BYTES;
  }

  /** @returns a copy of the prefix and the message */
  end(): Buffer {
    this.#buffer[0] = 0;
    this.#buffer.writeUInt32BE(this.#at - PREFIX_BYTES, 1);
    const frame = Buffer.from(this.#buffer.subarray(0, this.#at));
    // After a large message, the next ones do with less memory.
    if (this.#buffer.length > INITIAL_BYTES) this.#buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    return frame;
  }

  /** Begins a field of bytes whose length is known at its end. @returns what `close` needs */
  open(): number {
    this.#reserve(MAX_VARINT_BYTES);
    this.#at++;
    return this.#at;
  }

  close(start: number): void {
    const length = this.#at - start;
    if (length < 0x80) {
      this.#buffer[start - 1] = length;
      return;
    }
    // The length takes more than the one byte that was left for it.
    const more = length < 0x4000 ? 1 : length < 0x200000 ? 2 : length < 0x10000000 ? 3 : 4;
    this.#reserve(more);
    this.#buffer.copyWithin(start + more, start, this.#at);
    this.#at = start - 1;
    this.varint(length);
    this.#at += length;
  }

  /** @param value not negative, up to 2^53 */
  varint(value: number): void {
    this.#reserve(MAX_VARINT_BYTES);
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#at++] = rest;
  }

  /** A 32-bit integer. Negative ones take ten bytes. */
  int(value: number): void {
    if (value >= 0) this.varint(value);
    else this.bigInt(BigInt(value));
  }

  bigInt(value: bigint): void {
    this.#reserve(MAX_VARINT_BYTES);
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#at++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#at = this.#buffer.writeFloatLE(value, this.#at);
  }

  string(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.varint(bytes);
    this.#reserve(bytes);
    // A text with as many bytes as characters is ASCII.
    this.#at += this.#buffer.write(text, this.#at, bytes, bytes === text.length ? "latin1" : "utf8");
  }

  bytes(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
