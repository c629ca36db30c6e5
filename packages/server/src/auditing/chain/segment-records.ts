/**
 * The records of a segment: each names an entry that has a term. They are in buckets by the first byte of their terms; in a
 * merged segment, by the first twelve bits. So a bucket of either has about 2 KiB. Pure.
 */
import type { AuditSegmentTable } from "../../audit/tables.ts";

/** A term of six bytes, the id of a block of six bytes, and the index of an entry in the block of three bytes. */
const RECORD_LENGTH = 15;
const TERM_LENGTH = 6;
/** Buckets of a segment: 0 to 255. */
export const BUCKETS = 256;
const PARTS = 16;
/** Buckets of a merged segment, numbered after those of the others. */
export const MERGED_BUCKETS = BUCKETS * PARTS;

/** Entries of a block. */
export interface FoundInBlock {
  readonly block: number;
  /** Indexes in the block. */
  readonly entries: readonly number[];
}

function bucketOf(term: number): number {
  return Math.floor(term / 2 ** 40);
}

/** The bucket that has the term in a segment, and that in a merged segment. */
export function bucketsOf(term: number): [number, number] {
  return [bucketOf(term), BUCKETS + Math.floor(term / 2 ** 36)];
}

/** Bytes of a bucket of the segments that are merged: usually all of them have half of it. */
const MAX_MERGED_BYTES = 64 * 1024;

/**
 * The rows of the merged segments that replace a bucket of some segments, which are in order. A bucket with a frequent term may have many
 * records, so that few segments or none are merged with another one: a reader reads whole rows.
 */
export function mergeBucket(bucket: number, segments: readonly AuditSegmentTable[]): AuditSegmentTable[] {
  const groups: AuditSegmentTable[][] = [];
  let bytes = 0;
  for (const segment of segments) {
    bytes += segment.records.length;
    const group = groups.at(-1);
    if (group !== undefined && bytes <= MAX_MERGED_BYTES) group.push(segment);
    else {
      groups.push([segment]);
      bytes = segment.records.length;
    }
  }
  return groups.flatMap((group) => mergedRows(bucket, group));
}

function mergedRows(bucket: number, group: readonly AuditSegmentTable[]): AuditSegmentTable[] {
  const first = group.at(0);
  const last = group.at(-1);
  if (first === undefined || last === undefined) return [];
  const parts = Array.from({ length: PARTS }, (): Uint8Array[] => []);
  for (const { records } of group)
    for (let offset = 0; offset + RECORD_LENGTH <= records.length; offset += RECORD_LENGTH)
      parts[(records[offset + 1] as number) >> 4]?.push(records.subarray(offset, offset + RECORD_LENGTH));
  const { segment } = last;
  return parts.map((records, part) => ({
    bucket: BUCKETS + bucket * PARTS + part,
    segment,
    first_block: first.first_block,
    records: Buffer.concat(records),
  }));
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
  const found: { block: number; entries: number[] }[] = [];
  // All terms of a bucket have the same first byte, so the search is for the other five.
  const tail = numberTail(term);
  for (let at = bytes.indexOf(tail); at >= 0; at = bytes.indexOf(tail, at + 1)) {
    const offset = at - 1;
    if (offset % RECORD_LENGTH !== 0 || offset + RECORD_LENGTH > bytes.length) continue;
    const block = bytes.readUIntBE(offset + TERM_LENGTH, 6);
    const index = bytes.readUIntBE(offset + TERM_LENGTH + 6, 3);
    const last = found.at(-1);
    if (last?.block === block) last.entries.push(index);
    else found.push({ block, entries: [index] });
  }
  return found;
}

function numberTail(term: number): Buffer {
  const bytes = Buffer.allocUnsafe(TERM_LENGTH);
  bytes.writeUIntBE(term, 0, TERM_LENGTH);
  return bytes.subarray(1);
}
