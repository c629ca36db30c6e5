/**
 * Limits the transfers of one caller that are under way at once: while content goes to a slow client, or comes from one, the request
 * holds no slot of the process. All anonymous callers count as one caller, of whose slots one network has only a part.
 */
import { createKeyedLimit } from "../jobs/keyed-limit.ts";
import { resourceExhausted } from "../lib/errors.ts";
import type { Holder } from "./memory-pool.ts";

export interface CallerSlots {
  /**
   * @param caller uid; undefined for an anonymous caller
   * @param network of the caller's address; undefined behind a reverse proxy that does not name its clients
   * @throws RESOURCE_EXHAUSTED while all slots of the caller, or of its network, are taken
   */
  take(caller: string | undefined, network: Holder): Disposable;
}

/** The part of the anonymous slots that one network may have. */
const SHARE_OF_NETWORK = 1 / 4;
/** A single client pulls several layers at once. */
const MIN_SLOTS_OF_NETWORK = 8;

/** @param onRefusal called for each refusal */
export function createCallerSlots(slotsPerCaller: number, onRefusal: () => void = () => {}): CallerSlots {
  const refusal = (subject: string) => {
    onRefusal();
    return resourceExhausted(`${subject} are at their limit; try again shortly`, 1);
  };
  const callers = createKeyedLimit<string | undefined>(slotsPerCaller, (caller) => refusal(subjectOf(caller)));
  const share = Math.max(MIN_SLOTS_OF_NETWORK, Math.floor(slotsPerCaller * SHARE_OF_NETWORK));
  const slotsPerNetwork = Math.min(slotsPerCaller, share);
  const networks = createKeyedLimit<string>(slotsPerNetwork, () => refusal("requests without a token from your network"));
  return {
    take(caller, network) {
      if (caller !== undefined || network === undefined) return callers.take(caller);
      using stack = new DisposableStack();
      stack.use(networks.take(network));
      stack.use(callers.take(undefined));
      return stack.move();
    },
  };
}

function subjectOf(caller: string | undefined): string {
  return caller === undefined ? "requests without a token" : "requests of this identity";
}
