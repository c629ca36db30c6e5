/**
 * Limits the transfers of one caller that are under way at the same time. While content goes to a slow client, or comes
 * from one, the request holds no slot of the process. The anonymous callers of one network count as one caller.
 */
import { createKeyedLimit } from "../jobs/keyed-limit.ts";
import { resourceExhausted } from "../lib/errors.ts";
import type { Holder } from "./memory-pool.ts";

export interface CallerSlots {
  /**
   * @param caller uid; undefined for an anonymous caller
   * @param network of the caller's address; undefined behind a reverse proxy that does not name its clients, who then count as one
   * @throws RESOURCE_EXHAUSTED while all slots of the caller, or of the anonymous callers of its network, are taken
   */
  take(caller: string | undefined, network: Holder): Disposable;
}

/** @param onRefusal called for each refusal */
export function createCallerSlots(slotsPerCaller: number, onRefusal: () => void = () => {}): CallerSlots {
  const limitOf = (subject: string) =>
    createKeyedLimit<string | undefined>(slotsPerCaller, () => {
      onRefusal();
      return resourceExhausted(`${subject} are at their limit; try again shortly`, 1);
    });
  const callers = limitOf("requests of this identity");
  const networks = limitOf("requests without a token from your network");
  return { take: (caller, network) => (caller === undefined ? networks.take(network) : callers.take(caller)) };
}
