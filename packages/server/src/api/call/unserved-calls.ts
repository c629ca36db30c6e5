/**
 * Logs what clients call and this server does not serve, so that an operator learns what a client lacks. Each name has one line a minute,
 * and all names together a bounded number, because callers choose the names.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { CallMetadata } from "./call.ts";

const PERIOD_MS = 60_000;
/** Further names of a period are only counted. */
const MAX_NAMES_PER_PERIOD = 50;
const MAX_NAME_LENGTH = 256;

/** The client in the log line. */
export type UnservedClient = Pick<CallMetadata, "protocol" | "clientId" | "userAgent" | "remoteAddress">;

export class UnservedCalls {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #names = new Set<string>();
  #periodStart = 0;
  #unlisted = 0;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** @param operation a method's full name, or an HTTP method and path */
  report(operation: string, { protocol, clientId, userAgent, remoteAddress }: UnservedClient): void {
    this.#beginPeriodIfOver();
    const name = operation.slice(0, MAX_NAME_LENGTH);
    if (this.#names.has(name)) return;
    if (this.#names.size >= MAX_NAMES_PER_PERIOD) {
      this.#unlisted++;
      return;
    }
    this.#names.add(name);
    const line = { operation: name, protocol, client: clientId, userAgent, remote: remoteAddress };
    this.#log.warn(line, "a client called an operation that this server does not serve");
  }

  #beginPeriodIfOver(): void {
    const now = this.#clock.now().getTime();
    if (now >= this.#periodStart && now - this.#periodStart < PERIOD_MS) return;
    if (this.#unlisted > 0) this.#log.warn({ calls: this.#unlisted }, "further calls of operations that this server does not serve");
    this.#periodStart = now;
    this.#unlisted = 0;
    this.#names.clear();
  }
}

/** Paths of the API have a domain and a version: `/iam/v1/groups`. */
const API_PATH = /^\/[a-z]+\/v[0-9][a-z0-9]*(?:[/:]|$)/;
const UID_SEGMENTS = /(?<=\/)[0-9a-f]{40}(?:\/[0-9a-f]{16})*(?=[/:]|$)/g;

/** The operation that a REST request means, without its uids; undefined for paths that no version of the API could have. */
export function restOperationOf(method: string, path: string): string | undefined {
  return API_PATH.test(path) ? `${method} ${path.replace(UID_SEGMENTS, "{uid}")}` : undefined;
}
