/** A budget of bytes that many holders share. Each holder also has a limit of its own, so that none of them can take all. */
import { type HoltError, resourceExhausted } from "../lib/errors.ts";

export interface PoolLimits {
  readonly bytes: number;
  readonly bytesPerHolder: number;
  /** Messages of the refusals: the holder has reached its own limit, or all holders together have reached theirs. */
  readonly holderIsFull: string;
  readonly poolIsFull: string;
}

const RETRY_AFTER_SECONDS = 1;

/** The holder of bytes that count for the pool alone is undefined. */
export type Holder = string | undefined;

export class MemoryPool {
  readonly limits: PoolLimits;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(limits: PoolLimits) {
    this.limits = limits;
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, where the holder, or all holders together, would hold too much */
  take(holder: Holder, bytes: number): void {
    this.assertFits(holder, bytes);
    this.add(holder, bytes);
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, as `take` */
  assertFits(holder: Holder, bytes: number): void {
    const { bytesPerHolder, holderIsFull, poolIsFull } = this.limits;
    const held = holder === undefined ? 0 : (this.#held.get(holder) ?? 0);
    if (held + bytes > bytesPerHolder) throw refusal(holderIsFull);
    if (this.#total + bytes > this.limits.bytes) throw refusal(poolIsFull);
  }

  /** Adds bytes that exist already, even beyond the limits. */
  add(holder: Holder, bytes: number): void {
    this.#total += bytes;
    if (holder !== undefined) this.#held.set(holder, (this.#held.get(holder) ?? 0) + bytes);
  }

  give(holder: Holder, bytes: number): void {
    this.#total -= bytes;
    if (holder === undefined) return;
    const left = (this.#held.get(holder) ?? 0) - bytes;
    if (left > 0) this.#held.set(holder, left);
    else this.#held.delete(holder);
  }
}

function refusal(message: string): HoltError {
  return resourceExhausted(message, RETRY_AFTER_SECONDS);
}
