/** Counts the bytes of answers that wait for their readers, limits them, and closes the answers of readers who do not read. */
import { type BusyMember, BusySet } from "../lib/busy-set.ts";
import { type Holder, MemoryPool } from "./memory-pool.ts";
import type { Client } from "./peers.ts";
import type { TransportLimits } from "./transport-limits.ts";

export type AnswerLimits = Pick<
  TransportLimits,
  "answerBytes" | "answerBytesPerCaller" | "anonymousAnswerBytes" | "answerBytesPerAddress" | "readIdleMs"
>;

/** The connection or stream of one answer. */
export interface AnswerCarrier {
  /** Whether the answer waits for something else than its reader, such as an earlier answer on the connection. */
  isBlocked(): boolean;
  /** Ends the answer without its remaining bytes. Called again if the answer did not end. */
  breakOff(): void;
}

/** Checks per idle limit. */
const CHECKS = 4;

/** All answers of the process. */
export class Answers implements Disposable {
  readonly known: MemoryPool;
  readonly anonymous: MemoryPool;
  /** The answers that have bytes to send. */
  readonly waiting = new BusySet<Answer>();
  /** The number of checks so far. Busy processes run fewer, so that readers do not lose answers because the server is slow. */
  checks = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(limits: AnswerLimits) {
    this.known = poolOf(limits.answerBytes, limits.answerBytesPerCaller, "this identity");
    this.anonymous = poolOf(limits.anonymousAnswerBytes, limits.answerBytesPerAddress, "this address, without a token,");
    this.#timer = setInterval(() => this.#check(), limits.readIdleMs / CHECKS).unref();
  }

  #check(): void {
    this.checks++;
    for (const answer of this.waiting.values()) answer.check(CHECKS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function poolOf(bytes: number, bytesPerHolder: number, holder: string): MemoryPool {
  const holderIsFull = `${holder} has as many unread bytes of responses as its limit allows; read them, or try again shortly`;
  const poolIsFull = "the server holds as many unread bytes of responses as its limit allows; try again shortly";
  return new MemoryPool({ bytes, bytesPerHolder, holderIsFull, poolIsFull });
}

/** The answer to one request. It counts as anonymous until its caller is known. */
export class Answer implements BusyMember {
  place: number | undefined;
  /** Whether a complete answer that does not fit can still be replaced by a refusal. */
  mayRefuse = false;
  /** Whether a complete answer was refused after its headers were set. */
  hasRefused = false;
  /** Called when the connection or stream is closed. */
  onClose: (() => void) | undefined;
  readonly client: Client;
  readonly #answers: Answers;
  readonly #carrier: AnswerCarrier;
  #pool: MemoryPool;
  #holder: Holder;
  #held = 0;
  #isClosed = false;
  /** The number of the check before which the reader took something last. */
  #progress = 0;
  /** Bytes that the reader took since check `#counted`, and between that check and the one before. */
  #taken = 0;
  #takenBefore = 0;
  #counted = 0;

  constructor(answers: Answers, client: Client, carrier: AnswerCarrier) {
    this.client = client;
    this.#answers = answers;
    this.#carrier = carrier;
    this.#pool = answers.anonymous;
    this.#holder = client.network;
  }

  /** The uid of the caller once it is known, until then the network of its address. */
  get holder(): Holder {
    return this.#holder;
  }

  /**
   * Call it as soon as the caller is known, before any work for it.
   * @param caller uid; undefined for an anonymous caller
   * @throws HoltError RESOURCE_EXHAUSTED while the caller has too many connections or too many unread bytes
   */
  identify(caller: string | undefined): void {
    if (caller !== undefined) {
      this.client.identify(caller);
      this.#pool.give(this.#holder, this.#held);
      this.#pool = this.#answers.known;
      this.#holder = caller;
      this.#pool.add(caller, this.#held);
    }
    this.reserve(1);
  }

  /**
   * Call it before a complete answer is written. An answer that is larger than the limit fits while nothing else waits.
   * @throws HoltError RESOURCE_EXHAUSTED if the bytes do not fit
   */
  reserve(bytes: number): void {
    this.#pool.assertFits(this.#holder, Math.min(bytes, this.#pool.limits.bytesPerHolder));
  }

  /**
   * Counts bytes of an answer that is collected before it is written. The caller gives them back with a negative number.
   * @throws HoltError RESOURCE_EXHAUSTED if the bytes do not fit
   */
  collect(bytes: number): void {
    if (bytes > 0) this.reserve(bytes);
    if (bytes < 0) this.#pool.give(this.#holder, -bytes);
    else this.#pool.add(this.#holder, bytes);
  }

  /** @throws HoltError RESOURCE_EXHAUSTED if the complete answer does not fit and can be replaced */
  reserveContent(bytes: number): void {
    if (!this.mayRefuse) return;
    this.hasRefused = true;
    this.reserve(bytes);
    this.hasRefused = false;
  }

  /** Bytes were written that the reader has not taken yet. */
  add(bytes: number): void {
    if (this.#isClosed) return;
    if (this.#held === 0) this.#progress = this.#answers.checks;
    this.#held += bytes;
    this.#pool.add(this.#holder, bytes);
    if (this.#held > 0) this.#answers.waiting.add(this);
  }

  /** The reader took bytes. */
  sent(bytes: number): void {
    const taken = Math.min(bytes, this.#held);
    this.#progress = this.#answers.checks;
    this.#count(taken);
    this.#held -= taken;
    this.#pool.give(this.#holder, taken);
    if (this.#held === 0) this.#answers.waiting.delete(this);
  }

  /** Bytes that the reader took since the check before the last one, so within half of the idle limit. */
  get pace(): number {
    this.#count(0);
    return this.#taken + this.#takenBefore;
  }

  #count(taken: number): void {
    const { checks } = this.#answers;
    if (checks !== this.#counted) {
      this.#takenBefore = checks === this.#counted + 1 ? this.#taken : 0;
      this.#taken = 0;
      this.#counted = checks;
    }
    this.#taken += taken;
  }

  /** All bytes are sent. */
  end(): void {
    this.sent(this.#held);
  }

  /** The connection or stream is closed. A handler may still write: such bytes reach nobody, and are not counted. */
  close(): void {
    if (this.#held > 0) this.end();
    this.#isClosed = true;
    const { onClose } = this;
    this.onClose = undefined;
    onClose?.();
  }

  /** @param patience the number of checks that an answer may wait without progress */
  check(patience: number): void {
    if (this.#carrier.isBlocked()) this.#progress = this.#answers.checks;
    else if (this.#answers.checks - this.#progress > patience) this.#carrier.breakOff();
  }
}
