/**
 * Limits how many bytes of requests the process holds at once, over all protocols. The bytes that a call has read count
 * until the call ends.
 */
import { Code, HoltError } from "../lib/errors.ts";
import { MemoryPool } from "./memory-pool.ts";
import type { TransportLimits } from "./transport-limits.ts";

export type MemoryLimits = Pick<TransportLimits, "messageBytes" | "heldBytes" | "anonymousMessageBytes" | "anonymousHeldBytes">;

/** RESOURCE_EXHAUSTED, as gRPC has it. HTTP has a status of its own for it: 413 (RFC 9110 §15.5.14). */
export class MessageTooLargeError extends HoltError {
  constructor(limit: number) {
    super(Code.RESOURCE_EXHAUSTED, `Resource exhausted: the request message is larger than ${limit} bytes`);
  }
}

export class RequestMemory {
  readonly #known: Requests;
  readonly #anonymous: Requests;

  constructor(limits: MemoryLimits) {
    this.#known = requestsWithin(limits.messageBytes, limits.heldBytes);
    this.#anonymous = requestsWithin(limits.anonymousMessageBytes, limits.anonymousHeldBytes);
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

interface Requests {
  readonly messageBytes: number;
  readonly pool: MemoryPool;
}

function requestsWithin(messageBytes: number, bytes: number): Requests {
  const text = "the server holds as many bytes of requests as its limit allows; try again shortly";
  return { messageBytes, pool: new MemoryPool({ bytes, bytesPerHolder: bytes, holderIsFull: text, poolIsFull: text }) };
}

/** The bytes that one call may hold. */
export class Allowance {
  readonly #requests: Requests;
  #held = 0;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** The maximum size of one message, before and after decompression. */
  get messageBytes(): number {
    return this.#requests.messageBytes;
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, where all calls together would hold too much */
  take(bytes: number): void {
    this.#requests.pool.take(undefined, bytes);
    this.#held += bytes;
  }

  /** To be called when the call ends. */
  release(): void {
    this.#requests.pool.give(undefined, this.#held);
    this.#held = 0;
  }
}
