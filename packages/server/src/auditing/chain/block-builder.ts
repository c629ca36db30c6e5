/** Builds a block of entries that follow the end of a chain. Runs no SQL. */
import type { EntryHead } from "../../audit/audit-entry.ts";
import type { AuditBlockTable, AuditChainTable, AuditPostingTable } from "../../audit/tables.ts";
import { numberBytes } from "./block.ts";
import { hashOf, hashText, rawHash } from "./hash.ts";
import type { NewEntry } from "./new-entries.ts";
import { postingText } from "./posting-text.ts";
import { keysOf, requestTerm, targetTerm, termOf } from "./terms.ts";

type Chain = Pick<AuditChainTable, "org_uid" | "number" | "hash">;

export class BlockBuilder {
  readonly #id: number;
  readonly #chain: Chain;
  readonly #seqs: number[] = [];
  readonly #targets: number[] = [];
  readonly #times: number[] = [];
  readonly #requests: number[] = [];
  readonly #hashes: Buffer[] = [];
  readonly #postings = new Map<string, number[]>();
  #last: Uint8Array;
  #lastTime = "";

  constructor(id: number, chain: Chain) {
    this.#id = id;
    this.#chain = chain;
    this.#last = rawHash(chain.hash);
  }

  add({ seq, content }: NewEntry, head: EntryHead): void {
    const hash = hashOf(this.#last, content);
    const index = this.#seqs.push(seq) - 1;
    this.#hashes.push(hash);
    this.#last = hash;
    this.#targets.push(targetTerm(head.target));
    this.#times.push(Math.max(0, Date.parse(head.time) || 0));
    this.#requests.push(requestTerm(head.request_id));
    if (head.time > this.#lastTime) this.#lastTime = head.time;
    for (const key of keysOf(head)) {
      const indexes = this.#postings.get(key);
      if (indexes === undefined) this.#postings.set(key, [index]);
      else indexes.push(index);
    }
  }

  /** The end of the chain after the block. */
  get head(): Chain {
    const { org_uid, number } = this.#chain;
    return { org_uid, number: number + this.#seqs.length, hash: hashText(this.#last) };
  }

  row(): AuditBlockTable {
    const { org_uid, number } = this.#chain;
    return {
      id: this.#id,
      org_uid,
      first_number: number + 1,
      count: this.#seqs.length,
      last_time: this.#lastTime,
      targets: numberBytes(this.#targets),
      seqs: numberBytes(this.#seqs),
      hashes: Buffer.concat(this.#hashes),
      times: numberBytes(this.#times),
      requests: numberBytes(this.#requests),
    };
  }

  /** Each term once: two values with the same term share a posting. */
  postings(): AuditPostingTable[] {
    const byTerm = new Map<number, number[]>();
    for (const [key, indexes] of this.#postings) {
      const term = termOf(this.#chain.org_uid, key);
      const others = byTerm.get(term);
      byTerm.set(term, others === undefined ? indexes : [...new Set([...others, ...indexes])].toSorted((a, b) => a - b));
    }
    const { length } = this.#seqs;
    return [...byTerm].map(([term, indexes]) => ({ term, block: this.#id, entries: postingText(indexes, length) }));
  }
}
