/**
 * Caches what is known of issuers. The operator's issuers have entries of their own, which no number of issuers that
 * callers name can evict.
 */
import { Lru } from "../../lib/lru.ts";

export interface IssuerCache<T> {
  get(issuer: string): T | undefined;
  set(issuer: string, entry: T): void;
}

const MAX_NAMED_BY_CALLERS = 256;

/** @param trusted the operator's issuers, whose number the settings bound */
export function createIssuerCache<T>(trusted: ReadonlySet<string>): IssuerCache<T> {
  const operators = new Map<string, T>();
  const others = new Lru<string, T>(MAX_NAMED_BY_CALLERS);
  const entriesFor = (issuer: string) => (trusted.has(issuer) ? operators : others);
  return {
    get: (issuer) => entriesFor(issuer).get(issuer),
    set: (issuer, entry) => void entriesFor(issuer).set(issuer, entry),
  };
}
