/**
 * Resolves host names, so that names with unresponsive name servers do not delay others. The system's resolver blocks a
 * thread for up to half a minute, and libuv gives it only half of its threads. Without these limits, a few dead names
 * would block all lookups.
 */
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { Lru } from "../lib/lru.ts";

/** All addresses of a host; `dns.lookup` has this shape. */
export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** The speed of a name's last lookup. */
type Speed = "fast" | "unknown" | "slow";

interface Waiting {
  readonly hostname: string;
  readonly since: number;
}

/** bin/holtd.js sets 16 threads, of which libuv uses 8 for lookups. */
const MAX_RUNNING = 8;
/** The remaining threads are reserved for fast names. */
const MAX_RUNNING_UNKNOWN_OR_SLOW = 6;
const MAX_RUNNING_SLOW = 3;
const SLOW_MS = 1000;
/** By then the caller's request has timed out. */
const MAX_WAIT_MS = 10_000;
const MAX_REMEMBERED = 10_000;

export function createNameLookup(ask: Resolve, { slowMs = SLOW_MS, maxWaitMs = MAX_WAIT_MS, now = () => performance.now() } = {}): Resolve {
  const speeds = new Lru<string, Speed>(MAX_REMEMBERED);
  const waiting: Record<Speed, Waiting[]> = { fast: [], unknown: [], slow: [] };
  const running: Record<Speed, number> = { fast: 0, unknown: 0, slow: 0 };
  /** Callbacks by host name: concurrent lookups of a name share one answer. */
  const callbacks = new Map<string, Parameters<Resolve>[2][]>();

  function hasCapacity(speed: Speed): boolean {
    const unknownOrSlow = running.unknown + running.slow;
    if (running.fast + unknownOrSlow >= MAX_RUNNING) return false;
    if (speed === "fast") return true;
    return unknownOrSlow < MAX_RUNNING_UNKNOWN_OR_SLOW && (speed === "unknown" || running.slow < MAX_RUNNING_SLOW);
  }

  function proceed(): void {
    for (const speed of ["fast", "unknown", "slow"] as const) {
      while (hasCapacity(speed)) {
        const next = waiting[speed].shift();
        if (next === undefined) break;
        begin(next, speed);
      }
    }
  }

  function begin({ hostname, since }: Waiting, speed: Speed): void {
    const begun = now();
    if (begun - since > maxWaitMs) return void settle(hostname, new Error("too many slow name lookups"), []);
    running[speed]++;
    ask(hostname, { all: true }, (error, addresses) => {
      running[speed]--;
      speeds.set(hostname, now() - begun < slowMs ? "fast" : "slow");
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
    waiting[speeds.get(hostname) ?? "unknown"].push({ hostname, since: now() });
    proceed();
  };
}

/** One instance for the whole process, because the threads are shared. */
export const lookUpName = createNameLookup(systemLookup);
