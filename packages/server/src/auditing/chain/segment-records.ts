/** The records of a segment: each names an entry that has a term. They are in buckets by the first byte of their terms. Pure. */

/** A term of six bytes, the id of a block of six bytes, and the index of an entry in the block of three bytes. */
const RECORD_LENGTH = 15;
const TERM_LENGTH = 6;
export const BUCKETS = 256;

/** Entries of a block. */
export interface FoundInBlock {
  readonly block: number;
  /** Indexes in the block. */
  readonly entries: readonly number[];
}

export function bucketOf(term: number): number {
  return Math.floor(term / 2 ** 40);
}

/** Collects the records of the blocks of a segment. Blocks must come in the order of their ids. */
export class SegmentBuilder {
  /** Term, block and index of each record, one after the other. */
  readonly #buckets: number[][] = Array.from({ length: BUCKETS }, () => []);

  add(term: number, block: number, index: number): void {
    this.#buckets[bucketOf(term)]?.push(term, block, index);
  }

  /** The records of each bucket. */
  records(): Uint8Array[] {
    return this.#buckets.map(recordBytes);
  }
}

function recordBytes(records: readonly number[]): Uint8Array {
  const bytes = Buffer.allocUnsafe((records.length / 3) * RECORD_LENGTH);
  for (let at = 0, offset = 0; at < records.length; at += 3, offset += RECORD_LENGTH) {
    bytes.writeUIntBE(records[at] as number, offset, TERM_LENGTH);
    bytes.writeUIntBE(records[at + 1] as number, offset + TERM_LENGTH, 6);
    bytes.writeUIntBE(records[at + 2] as number, offset + TERM_LENGTH + 6, 3);
  }
  return bytes;
}

/** The entries with the term, in the order of their blocks. */
export function entriesWithTerm(records: Uint8Array, term: number): FoundInBlock[] {
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  const [high, low] = [Math.floor(term / 2 ** 24), term % 2 ** 24];
  const found: { block: number; entries: number[] }[] = [];
  for (let offset = 0; offset + RECORD_LENGTH <= bytes.length; offset += RECORD_LENGTH) {
    if (bytes.readUIntBE(offset + 3, 3) !== low || bytes.readUIntBE(offset, 3) !== high) continue;
    const block = bytes.readUIntBE(offset + TERM_LENGTH, 6);
    const index = bytes.readUIntBE(offset + TERM_LENGTH + 6, 3);
    const last = found.at(-1);
    if (last?.block === block) last.entries.push(index);
    else found.push({ block, entries: [index] });
  }
  return found;
}
