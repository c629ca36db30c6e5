/** The parts of blocks of sealed entries. */
import type { AuditBlockTable } from "../../audit/tables.ts";
import { HASH_LENGTH } from "./hash.ts";

/** Bytes of a `seq` or a term in a block. */
export const NUMBER_LENGTH = 6;

/** An entry of a chain. */
export interface ChainEntry {
  /** Uid; empty for the chain of the server. */
  readonly organization: string;
  readonly number: number;
  /** Base64url. */
  readonly hash: string;
  /** Undefined for a row that is missing. */
  readonly content: string | undefined;
}

/** The place of an entry in its block. */
export interface Location {
  readonly block: number;
  readonly index: number;
}

export function numberBytes(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * NUMBER_LENGTH);
  for (const [index, number] of numbers.entries()) bytes.writeUIntBE(number, index * NUMBER_LENGTH, NUMBER_LENGTH);
  return bytes;
}

export function numbersOf(bytes: Uint8Array): number[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / NUMBER_LENGTH) }, (_, index) =>
    buffer.readUIntBE(index * NUMBER_LENGTH, NUMBER_LENGTH),
  );
}

/** Whether a block has as many hashes and rows as it says. */
export function isWellFormed({ count, seqs, hashes }: Pick<AuditBlockTable, "count" | "seqs" | "hashes">): boolean {
  return count > 0 && seqs.length === count * NUMBER_LENGTH && hashes.length === count * HASH_LENGTH;
}

export function hashAt({ hashes }: Pick<AuditBlockTable, "hashes">, index: number): Uint8Array {
  return hashes.subarray(index * HASH_LENGTH, (index + 1) * HASH_LENGTH);
}
