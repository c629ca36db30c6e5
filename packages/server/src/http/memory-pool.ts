/**
 * A budget of bytes that many holders share. Each holder has a limit of its own, and all holders of an organization together leave as
 * many bytes free as they have, so that neither can take all.
 */
import { createSlots, type Slots } from "../jobs/fair-share.ts";
import { type HoltError, resourceExhausted } from "../lib/errors.ts";
import { Tally } from "../lib/tally.ts";

export interface PoolLimits {
  readonly bytes: number;
  readonly bytesPerHolder: number;
  /** Messages of the refusals: the holder has reached its own limit, or its organization or all holders together have reached theirs. */
  readonly holderIsFull: string;
  readonly poolIsFull: string;
}

const RETRY_AFTER_SECONDS = 1;
const SHARE_OF_ORGANIZATION = 1 / 2;

/** The uid of a caller, or the network of an anonymous one. The holder of bytes that count for the pool alone is undefined. */
export type Holder = string | undefined;

export class MemoryPool {
  readonly limits: PoolLimits;
  readonly #held = new Tally<string>();
  /** A slot is a byte. */
  readonly #slots: Slots;

  constructor(limits: PoolLimits) {
    this.limits = limits;
    this.#slots = createSlots({ slots: limits.bytes, shareOfOne: SHARE_OF_ORGANIZATION });
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, where the holder, its organization, or all holders together, would hold too much */
  take(holder: Holder, bytes: number): void {
    this.assertFits(holder, bytes);
    this.add(holder, bytes);
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, as `take` */
  assertFits(holder: Holder, bytes: number): void {
    const { bytesPerHolder, holderIsFull, poolIsFull } = this.limits;
    const held = holder === undefined ? 0 : this.#held.get(holder);
    if (held + bytes > bytesPerHolder) throw refusal(holderIsFull);
    const fits = holder === undefined ? bytes <= this.#slots.free() : this.#slots.mayTake(holder, bytes);
    if (!fits) throw refusal(poolIsFull);
  }

  /** Adds bytes that exist already, even beyond the limits. */
  add(holder: Holder, bytes: number): void {
    if (bytes === 0) return;
    this.#slots.take(holder ?? NOBODY, bytes);
    if (holder !== undefined) this.#held.add(holder, bytes);
  }

  give(holder: Holder, bytes: number): void {
    if (bytes === 0) return;
    this.#slots.giveBack(holder ?? NOBODY, bytes);
    if (holder !== undefined) this.#held.add(holder, -Math.min(bytes, this.#held.get(holder)));
  }
}

const NOBODY = "";

function refusal(message: string): HoltError {
  return resourceExhausted(message, RETRY_AFTER_SECONDS);
}
