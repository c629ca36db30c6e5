/**
 * Resolves host names, so that names with unresponsive name servers do not delay others. A DNS query comes first: it needs
 * no thread, so any number of names can wait for their name servers. The system's resolver, which blocks a thread for up to
 * half a minute, is asked only about names that DNS does not know. They come from the hosts file, from search domains and
 * from other sources of this machine. libuv gives it only half of its threads, so it has limits.
 */
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { Lru } from "../lib/lru.ts";
import { type QueryDns, queryDns } from "./dns-query.ts";

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

export interface NameLookupOptions {
  /** Without it, the system's resolver is asked about every name. */
  readonly query?: QueryDns;
  readonly slowMs?: number;
  readonly maxWaitMs?: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

interface SystemLookupsOptions {
  /** The system's resolver. */
  readonly ask: Resolve;
  readonly slowMs: number;
  readonly maxWaitMs: number;
  readonly now: () => number;
  settle(hostname: string, error: Error | null, addresses: LookupAddress[]): void;
}

/** Lookups by the system's resolver, which wait while too many of their speed run. */
class SystemLookups {
  readonly #options: SystemLookupsOptions;
  readonly #speeds = new Lru<string, Speed>(MAX_REMEMBERED);
  readonly #waiting: Record<Speed, Waiting[]> = { fast: [], unknown: [], slow: [] };
  readonly #running: Record<Speed, number> = { fast: 0, unknown: 0, slow: 0 };

  constructor(options: SystemLookupsOptions) {
    this.#options = options;
  }

  /** Undefined for a name that was not looked up before. */
  speedOf(hostname: string): Speed | undefined {
    return this.#speeds.get(hostname);
  }

  add(hostname: string, speed: Speed): void {
    this.#waiting[speed].push({ hostname, since: this.#options.now() });
    this.#proceed();
  }

  #proceed(): void {
    for (const speed of ["fast", "unknown", "slow"] as const) {
      while (this.#hasCapacity(speed)) {
        const next = this.#waiting[speed].shift();
        if (next === undefined) break;
        this.#begin(next, speed);
      }
    }
  }

  #hasCapacity(speed: Speed): boolean {
    const { fast, unknown, slow } = this.#running;
    if (fast + unknown + slow >= MAX_RUNNING) return false;
    if (speed === "fast") return true;
    return unknown + slow < MAX_RUNNING_UNKNOWN_OR_SLOW && (speed === "unknown" || slow < MAX_RUNNING_SLOW);
  }

  #begin({ hostname, since }: Waiting, speed: Speed): void {
    const { ask, slowMs, maxWaitMs, now, settle } = this.#options;
    const begun = now();
    if (begun - since > maxWaitMs) return void settle(hostname, new Error("too many slow name lookups"), []);
    this.#running[speed]++;
    ask(hostname, { all: true }, (error, addresses) => {
      this.#running[speed]--;
      this.#speeds.set(hostname, now() - begun < slowMs ? "fast" : "slow");
      settle(hostname, error, addresses);
      this.#proceed();
    });
  }
}

/** @param ask the system's resolver */
export function createNameLookup(ask: Resolve, options: NameLookupOptions = {}): Resolve {
  const { query, slowMs = SLOW_MS, maxWaitMs = MAX_WAIT_MS, now = () => performance.now() } = options;
  /** Callbacks by host name: concurrent lookups of a name share one answer. */
  const callbacks = new Map<string, Parameters<Resolve>[2][]>();
  const system = new SystemLookups({ ask, slowMs, maxWaitMs, now, settle });

  function settle(hostname: string, error: Error | null, addresses: LookupAddress[]): void {
    const asked = callbacks.get(hostname) ?? [];
    callbacks.delete(hostname);
    for (const callback of asked) callback(error, addresses);
  }

  return (hostname, _options, callback) => {
    const others = callbacks.get(hostname);
    if (others !== undefined) return void others.push(callback);
    callbacks.set(hostname, [callback]);
    const speed = system.speedOf(hostname);
    // The system has known the name, and perhaps it alone.
    if (query === undefined || speed === "fast") return system.add(hostname, speed ?? "unknown");
    query(hostname).then(({ addresses, isAnswered }) => {
      if (addresses.length > 0) settle(hostname, null, [...addresses]);
      // Where DNS does not answer, the system's resolver will mostly wait as long as it may.
      else system.add(hostname, isAnswered ? (speed ?? "unknown") : "slow");
    });
  };
}

/** One instance for the whole process, because the threads are shared. */
export const lookUpName = createNameLookup(systemLookup, { query: queryDns });
