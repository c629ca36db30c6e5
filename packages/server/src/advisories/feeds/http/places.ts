/**
 * How many requests may be under way. A client takes as long as it likes to read a large file, so a request has its place among all only
 * while the server works on it; a place among its caller's own it has until the last byte is sent. Callers whom nobody knows are one
 * caller together, and give the place among all back at once: they wait and read at each other's cost alone.
 */
import { resourceExhausted } from "../../../lib/errors.ts";

export interface PlaceLimits {
  /** Requests that the server works on. */
  readonly all: number;
  /** Requests of one caller, those whose file is being sent included. */
  readonly ofOne: number;
}

export interface Place extends Disposable {
  /**
   * @param caller undefined for a stranger
   * @throws RESOURCE_EXHAUSTED
   */
  take(caller: string | undefined): void;
  /** The work is done, and all that is left is to send what came of it. */
  leave(): void;
}

/** @returns what makes the place of a new request. @throws RESOURCE_EXHAUSTED */
export function createPlaces({ all, ofOne }: PlaceLimits): () => Place {
  const held = new Map<string | undefined, number>();
  let working = 0;
  return () => {
    if (working >= all) throw resourceExhausted("the server is at its limit of concurrent calls; try again shortly", 1);
    working++;
    let isWorking = true;
    let giveBack = () => {};

    const leave = () => {
      if (isWorking) working--;
      isWorking = false;
    };
    return {
      take(caller) {
        const others = held.get(caller) ?? 0;
        if (others >= ofOne) throw resourceExhausted(`${whose(caller)} are at their limit; try again shortly`, 1);
        held.set(caller, others + 1);
        giveBack = () => {
          const left = (held.get(caller) ?? 0) - 1;
          if (left > 0) held.set(caller, left);
          else held.delete(caller);
        };
        if (caller === undefined) leave();
      },
      leave,
      [Symbol.dispose]() {
        leave();
        giveBack();
      },
    };
  };
}

function whose(caller: string | undefined): string {
  return caller === undefined ? "requests without a token" : "requests of this identity";
}
