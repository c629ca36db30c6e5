/** The wait for one call: it ends with the outcome of the call, or earlier when the caller leaves or its deadline passes. */

export class CallWait {
  readonly #onAbort: (reason: Error) => void;
  #hasEnded = false;
  #reason: Error | undefined;
  #controller: AbortController | undefined;

  /** @param onAbort called at most once, and not after `end` */
  constructor(onAbort: (reason: Error) => void) {
    this.#onAbort = onAbort;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Ends the wait with the outcome of the call. @returns false if it has ended before; the outcome is then dropped */
  end(): boolean {
    const isFirst = !this.#hasEnded;
    this.#hasEnded = true;
    return isFirst;
  }

  /** Ends the wait early, unless it has ended before. */
  abort(reason: Error): void {
    if (!this.end()) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#onAbort(reason);
  }

  /** Aborted when the wait ends early. Made on demand, because few handlers need it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}
