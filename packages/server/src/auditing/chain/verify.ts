/** Follows a chain from its first entry to its last and names the first entry that is not as it was sealed. Reads no database. */
import type { ChainEntry } from "./block.ts";
import { hashOf, hashText, rawHash } from "./hash.ts";

export type ProblemKind = "changed" | "removed" | "inserted" | "reordered";

/** The first bad entry of a chain. */
export interface Problem {
  readonly kind: ProblemKind;
  /** In the chain. */
  readonly number: number;
  readonly description: string;
}

/** An entry of the chain, and the hash after it. */
export interface Link {
  readonly number: number;
  /** Base64url; empty before the first entry. */
  readonly hash: string;
}

type Entry = Pick<ChainEntry, "number" | "hash" | "content">;

export class ChainWalk {
  #last: Link;
  /** The link before the last one; undefined at the first. */
  #previous: Link | undefined;

  /** @param base what comes before the first entry */
  constructor(base: Link) {
    this.#last = base;
  }

  get last(): Link {
    return this.#last;
  }

  /** @param next the entry after it, if there is one, which tells an insertion from a change */
  step(entry: Entry, next: Entry | undefined): Problem | undefined {
    const expected = this.#last.number + 1;
    if (entry.number > expected) return problem("removed", expected, "it is missing");
    if (entry.number < expected) return problem("inserted", entry.number, "another entry has the same number");
    if (entry.content === undefined) return problem("removed", expected, "its hash is there, but its row is missing");
    if (follows(entry, entry.hash, this.#last.hash)) {
      this.#previous = this.#last;
      this.#last = { number: entry.number, hash: entry.hash };
      return undefined;
    }
    return this.#explain(entry, next);
  }

  #explain(entry: Entry, next: Entry | undefined): Problem {
    const { number } = entry;
    const before = this.#previous;
    // Without the entry before it, this one fits there: that entry was put in between, with a hash that fits.
    if (before !== undefined && follows(entry, entry.hash, before.hash))
      return problem("inserted", number - 1, "the entry after it was sealed without it");
    if (next !== undefined && follows(next, next.hash, this.#last.hash)) {
      if (follows(entry, entry.hash, next.hash)) return problem("reordered", number, "it was sealed after the entry that follows it");
      return problem("inserted", number, "the entry after it was sealed without it");
    }
    if (next !== undefined && follows(next, entry.hash, this.#last.hash))
      return problem("reordered", number, "the entry that follows it was sealed in its place");
    return problem("changed", number, "its content or the hash before it differs from what was sealed");
  }
}

function follows({ content }: Entry, hash: string, previous: string): boolean {
  return content !== undefined && hashText(hashOf(rawHash(previous), content)) === hash;
}

export function problem(kind: ProblemKind, number: number, why: string): Problem {
  return { kind, number, description: `entry ${number} was ${kind}: ${why}` };
}
