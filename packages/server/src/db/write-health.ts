/** Remembers whether writes fail, for readiness. After a failure, only a write that succeeds counts as a recovery. */
import { Code, HoltError } from "../lib/errors.ts";

/** Name of the row in server_state that a probe writes. */
export const WRITE_PROBE = "write_probe";

export class WriteHealth {
  #isFailing = false;

  get isFailing(): boolean {
    return this.#isFailing;
  }

  succeeded(): void {
    this.#isFailing = false;
  }

  /** Errors of the caller, such as a violated constraint, do not count. */
  failed(error: unknown): void {
    if (error instanceof HoltError && error.code === Code.UNAVAILABLE) this.#isFailing = true;
  }

  /** Writes a row if the latest write failed. @throws the error of the probe */
  async probe(write: () => Promise<unknown>): Promise<void> {
    if (!this.#isFailing) return;
    await write();
    this.#isFailing = false;
  }
}
