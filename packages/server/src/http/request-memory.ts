/**
 * Limits how many bytes of requests the process holds at once, over all protocols. The bytes that a call has read count
 * until the call ends.
 */
import { Code, HoltError, resourceExhausted } from "../lib/errors.ts";
import type { TransportLimits } from "./transport-limits.ts";

export type MemoryLimits = Pick<TransportLimits, "messageBytes" | "heldBytes" | "anonymousMessageBytes" | "anonymousHeldBytes">;

/** RESOURCE_EXHAUSTED, as gRPC has it. HTTP has a status of its own for it: 413 (RFC 9110 §15.5.14). */
export class MessageTooLargeError extends HoltError {
  constructor(limit: number) {
    super(Code.RESOURCE_EXHAUSTED, `Resource exhausted: the request message is larger than ${limit} bytes`);
  }
}

export class RequestMemory {
  readonly #known: Pool;
  readonly #anonymous: Pool;

  constructor(limits: MemoryLimits) {
    this.#known = { messageBytes: limits.messageBytes, left: limits.heldBytes };
    this.#anonymous = { messageBytes: limits.anonymousMessageBytes, left: limits.anonymousHeldBytes };
  }

  /** @param isAnonymous whether the body is read without knowing its sender */
  allow(isAnonymous: boolean): Allowance {
    return isAnonymous ? this.allowAnonymous() : this.allowKnown();
  }

  /** Anonymous callers share a pool of their own, so that they cannot take the memory of authenticated callers. */
  allowAnonymous(): Allowance {
    return new Allowance(this.#anonymous);
  }

  /** For authenticated callers. */
  allowKnown(): Allowance {
    return new Allowance(this.#known);
  }
}

interface Pool {
  readonly messageBytes: number;
  left: number;
}

/** The bytes that one call may hold. */
export class Allowance {
  readonly #pool: Pool;
  #held = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The maximum size of one message, before and after decompression. */
  get messageBytes(): number {
    return this.#pool.messageBytes;
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, where all calls together would hold too much */
  take(bytes: number): void {
    if (bytes > this.#pool.left)
      throw resourceExhausted("the server holds as many bytes of requests as its limit allows; try again shortly", 1);
    this.#pool.left -= bytes;
    this.#held += bytes;
  }

  /** To be called when the call ends. */
  release(): void {
    this.#pool.left += this.#held;
    this.#held = 0;
  }
}
