/** How many bytes of requests the process holds at once, whoever sent them and over whichever protocol. What a call has read counts until the call ends. */
import { isOpen } from "../api/call/authenticate.ts";
import type { AccessRule } from "../api/call/operation.ts";
import { Code, HoltError, resourceExhausted } from "../lib/errors.ts";
import type { TransportLimits } from "./transport-limits.ts";

export type MemoryLimits = Pick<TransportLimits, "messageBytes" | "heldBytes" | "strangerMessageBytes" | "strangerHeldBytes">;

/** RESOURCE_EXHAUSTED, as gRPC has it; HTTP has a status of its own for it (RFC 9110 §15.5.14). */
export class MessageTooLargeError extends HoltError {
  constructor(limit: number) {
    super(Code.RESOURCE_EXHAUSTED, `Resource exhausted: the request message is larger than ${limit} bytes`);
  }
}

export class RequestMemory {
  readonly #callers: Pool;
  readonly #strangers: Pool;

  constructor(limits: MemoryLimits) {
    this.#callers = { messageBytes: limits.messageBytes, left: limits.heldBytes };
    this.#strangers = { messageBytes: limits.strangerMessageBytes, left: limits.strangerHeldBytes };
  }

  /** Operations that are open to strangers have a pool of their own, so that no stranger can take the memory of those who are known. */
  allow(access: AccessRule): Allowance {
    return isOpen(access) ? this.allowStranger() : this.allowCaller();
  }

  /** For somebody whose token is good. */
  allowCaller(): Allowance {
    return new Allowance(this.#callers);
  }

  /** For anybody. */
  allowStranger(): Allowance {
    return new Allowance(this.#strangers);
  }
}

interface Pool {
  readonly messageBytes: number;
  left: number;
}

/** What one call may hold. */
export class Allowance {
  readonly #pool: Pool;
  #held = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Of one message, compressed or not. */
  get messageBytes(): number {
    return this.#pool.messageBytes;
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, where all calls together would hold too much */
  take(bytes: number): void {
    if (bytes > this.#pool.left) throw resourceExhausted("the server holds as much of requests as it may; try again shortly", 1);
    this.#pool.left -= bytes;
    this.#held += bytes;
  }

  /** At the end of the call. */
  release(): void {
    this.#pool.left += this.#held;
    this.#held = 0;
  }
}
