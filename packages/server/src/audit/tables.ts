/** The tables of the audit log. The domain auditing/ has the migration; column names equal proto field names. */
import type { Generated } from "kysely";

declare module "../db/schema.ts" {
  interface Schema {
    audit_entry: AuditEntryTable;
    audit_block: AuditBlockTable;
    audit_posting: AuditPostingTable;
    audit_target: AuditPostingTable & { segment: number };
    audit_segment: AuditSegmentTable;
    audit_chain: AuditChainTable;
    audit_checkpoint: AuditCheckpointTable;
  }
}

/** One row per entry, written by the transaction of the change. Sealing never touches it: hashes and the index are in blocks. */
export interface AuditEntryTable {
  seq: Generated<number>;
  /** An `EntryContent` as JSON. The hash of the entry covers these bytes. */
  content: string;
}

/** Entries of one chain that were sealed together, in the order of the chain. Blocks of all chains are numbered without gaps. */
export interface AuditBlockTable {
  id: number;
  /** The organization; the empty string for the chain of the server. */
  org_uid: string;
  /** Number of the first entry in the chain. Numbers count from 1, without gaps. */
  first_number: number;
  count: number;
  /** The latest time of an entry. */
  last_time: string;
  /** Term of the target of each entry, six bytes each. */
  targets: Uint8Array;
  /** `seq` of each entry, six bytes each. */
  seqs: Uint8Array;
  /** SHA-256 of each entry and of the hash before it, 32 bytes each. */
  hashes: Uint8Array;
  /** Time of each entry in milliseconds since 1970, six bytes each; null in blocks of servers before this column. */
  times: Uint8Array | null;
  /** Term of the request of each entry, six bytes each, 0 for none; null in blocks of servers before this column. */
  requests: Uint8Array | null;
}

/**
 * Records of targets and requests. Nearly every entry has other terms, so they are written together for many blocks, in
 * buckets. An index in the order of terms would touch a page per entry. Each segment has a row per bucket; merged ones may
 * begin and end elsewhere in each.
 */
export interface AuditSegmentTable {
  /** The first byte of the terms; in a merged segment 256 and their first twelve bits. */
  bucket: number;
  /** Id of the last block of the segment. */
  segment: number;
  /** Id of the first block of the segment. */
  first_block: number;
  /** See `auditing/chain/segment-records.ts`. */
  records: Uint8Array;
}

/** Names the entries of a block that have something in common, such as the actor. Filters find entries by it. */
export interface AuditPostingTable {
  /** A hash of the chain, the kind of the property, and its value. */
  term: number;
  block: number;
  /** See `auditing/chain/posting-text.ts`. */
  entries: string;
}

/** The end of each chain, and the entry before its first one. */
export interface AuditChainTable {
  org_uid: string;
  /** Number and hash of the last entry. */
  number: number;
  hash: string;
  /** Number and hash of the last entry that retention has deleted; 0 and the empty string for none. */
  base_number: number;
  base_hash: string;
  /** Number of the last checkpoint, the key that signed it, and its time. */
  checkpoint_number: number;
  checkpoint_kid: string;
  checkpoint_time: string;
}

export interface AuditCheckpointTable {
  org_uid: string;
  /** The last entry that the checkpoint covers. */
  number: number;
  time: string;
  kid: string;
  /** A JWS in compact form. */
  jws: string;
}
