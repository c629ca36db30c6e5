/**
 * Looks names up so that those whose name servers do not answer keep nobody else waiting. The system's resolver takes a thread for as long as it waits,
 * which may be half a minute, and only half of the process's threads do such work: without this, a handful of dead names would stop all others.
 */
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { Lru } from "../lib/lru.ts";

/** All addresses of a host; `dns.lookup` has this shape. */
export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** How a name did last time. */
type Standing = "quick" | "new" | "slow";

interface Waiting {
  readonly hostname: string;
  readonly since: number;
}

/** Of the 16 threads that bin/holtd.js asks for, as many look names up. */
const MAX_RUNNING = 8;
/** The others are for names that are known to be quick. */
const MAX_DOUBTFUL = 6;
const MAX_SLOW = 3;
const SLOW_MS = 1000;
/** By then whoever asked has given up. */
const MAX_WAIT_MS = 10_000;
const MAX_REMEMBERED = 10_000;

export function createNameLookup(ask: Resolve, { slowMs = SLOW_MS, maxWaitMs = MAX_WAIT_MS } = {}): Resolve {
  const standings = new Lru<string, Standing>(MAX_REMEMBERED);
  const waiting: Record<Standing, Waiting[]> = { quick: [], new: [], slow: [] };
  const running: Record<Standing, number> = { quick: 0, new: 0, slow: 0 };
  /** Who asks for a name that is asked for already gets the same answer. */
  const callbacks = new Map<string, Parameters<Resolve>[2][]>();

  function hasRoom(standing: Standing): boolean {
    const doubtful = running.new + running.slow;
    if (running.quick + doubtful >= MAX_RUNNING) return false;
    return standing === "quick" || (doubtful < MAX_DOUBTFUL && (standing === "new" || running.slow < MAX_SLOW));
  }

  function proceed(): void {
    for (const standing of ["quick", "new", "slow"] as const) {
      while (hasRoom(standing)) {
        const next = waiting[standing].shift();
        if (next === undefined) break;
        begin(next, standing);
      }
    }
  }

  function begin({ hostname, since }: Waiting, standing: Standing): void {
    const begun = performance.now();
    if (begun - since > maxWaitMs) return void settle(hostname, new Error("other names are waited for"), []);
    running[standing]++;
    ask(hostname, { all: true }, (error, addresses) => {
      running[standing]--;
      standings.set(hostname, performance.now() - begun < slowMs ? "quick" : "slow");
      settle(hostname, error, addresses);
      proceed();
    });
  }

  function settle(hostname: string, error: Error | null, addresses: LookupAddress[]): void {
    const asked = callbacks.get(hostname) ?? [];
    callbacks.delete(hostname);
    for (const callback of asked) callback(error, addresses);
  }

  return (hostname, _options, callback) => {
    const others = callbacks.get(hostname);
    if (others !== undefined) return void others.push(callback);
    callbacks.set(hostname, [callback]);
    waiting[standings.get(hostname) ?? "new"].push({ hostname, since: performance.now() });
    proceed();
  };
}

/** One for the whole process, as its threads are. */
export const lookUpName = createNameLookup(systemLookup);
