/**
 * Limits how many bytes of requests the process holds at the same time, over all protocols, and how many of them are of one sender. The
 * bytes that a call has read count until the call ends.
 */
import { Code, HoltError } from "../lib/errors.ts";
import { type Holder, MemoryPool } from "./memory-pool.ts";
import type { TransportLimits } from "./transport-limits.ts";

export type MemoryLimits = Pick<
  TransportLimits,
  "messageBytes" | "heldBytes" | "heldBytesPerCaller" | "anonymousMessageBytes" | "anonymousHeldBytes" | "heldBytesPerAddress"
>;

/**
 * The sender of a request, as far as it is known when the first bytes are read: the answer to the request counts for the same sender.
 * Undefined where a test serves without the listener.
 */
export type Sender = { readonly holder: Holder } | undefined;

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
    const { messageBytes, anonymousMessageBytes } = limits;
    this.#known = { messageBytes, pool: poolOf(limits.heldBytes, limits.heldBytesPerCaller, "this identity") };
    const anonymous = poolOf(limits.anonymousHeldBytes, limits.heldBytesPerAddress, "this address, without a token,");
    this.#anonymous = { messageBytes: anonymousMessageBytes, pool: anonymous };
  }

  /** @param isAnonymous whether the body is read without knowing its sender */
  allow(isAnonymous: boolean, sender: Sender): Allowance {
    return isAnonymous ? this.allowAnonymous(sender) : this.allowKnown(sender);
  }

  /** Anonymous callers share a pool of their own, so that they cannot take the memory of authenticated callers. */
  allowAnonymous(sender: Sender): Allowance {
    return new Allowance(this.#anonymous, sender);
  }

  /** For authenticated callers. */
  allowKnown(sender: Sender): Allowance {
    return new Allowance(this.#known, sender);
  }
}

interface Requests {
  readonly messageBytes: number;
  readonly pool: MemoryPool;
}

function poolOf(bytes: number, bytesPerHolder: number, holder: string): MemoryPool {
  const holderIsFull = `${holder} has as many bytes of requests under way as its limit allows; try again shortly`;
  const poolIsFull = "the server holds as many bytes of requests as its limit allows; try again shortly";
  return new MemoryPool({ bytes, bytesPerHolder, holderIsFull, poolIsFull });
}

/** The bytes that one call may hold. */
export class Allowance {
  readonly #requests: Requests;
  readonly #sender: Sender;
  /** The sender at the first bytes. */
  #holder: Holder;
  #held = 0;

  constructor(requests: Requests, sender: Sender) {
    this.#requests = requests;
    this.#sender = sender;
  }

  /** The maximum size of one message, before and after decompression. */
  get messageBytes(): number {
    return this.#requests.messageBytes;
  }

  /** @throws HoltError RESOURCE_EXHAUSTED, where the calls of the sender, or all calls together, would hold too much */
  take(bytes: number): void {
    if (this.#held === 0) this.#holder = this.#sender?.holder;
    this.#requests.pool.take(this.#holder, bytes);
    this.#held += bytes;
  }

  /** Call it when the call ends. */
  release(): void {
    this.#requests.pool.give(this.#holder, this.#held);
    this.#held = 0;
  }
}
