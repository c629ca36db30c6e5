/** Caches the policies of organizations, and finds those that a person's sign-in does not satisfy. */
import type { ReadDb, Store } from "../../db/store.ts";
import { Lru } from "../../lib/lru.ts";
import { type Meter, meterCache } from "../../lib/meter.ts";
import { type PolicyProblem, problemOf, readPolicies, type SignedIn, type SignInPolicy } from "./sign-in-policy.ts";

export interface PolicyCache {
  /** @param db handle of a transaction whose own writes must be visible; bypasses the cache */
  findProblems(organizations: readonly string[], signedIn: SignedIn, db?: ReadDb): Promise<ReadonlyMap<string, PolicyProblem>>;
  /** Drops what changed: uids of organizations among others, or all. */
  invalidate(uids: readonly string[] | "*"): void;
}

const MAX_CACHED = 50_000;

/** @param current false while this server may have missed changes of other servers */
export function createPolicyCache(store: Store, current: () => boolean, meter: Meter): PolicyCache {
  const cache = new Lru<string, SignInPolicy | "none">(MAX_CACHED);
  meterCache(meter, "sign-in-policies", cache);
  /** Counts invalidations: a read that one has overtaken is not cached. */
  let generation = 0;

  async function policiesOf(organizations: readonly string[], db?: ReadDb): Promise<ReadonlyMap<string, SignInPolicy>> {
    if (db !== undefined || !current()) return readPolicies(db ?? store.reader, organizations);
    const known = new Map(organizations.map((uid) => [uid, cache.get(uid)]));
    const missing = organizations.filter((uid) => known.get(uid) === undefined);
    if (missing.length > 0) {
      const before = generation;
      const read = await readPolicies(store.reader, missing);
      for (const uid of missing) {
        known.set(uid, read.get(uid) ?? "none");
        if (generation === before && current()) cache.set(uid, read.get(uid) ?? "none");
      }
    }
    return new Map([...known].filter((entry): entry is [string, SignInPolicy] => typeof entry[1] === "object"));
  }

  return {
    async findProblems(organizations, signedIn, db) {
      const problems = new Map<string, PolicyProblem>();
      if (signedIn.auth === undefined || organizations.length === 0) return problems;
      for (const [uid, policy] of await policiesOf(organizations, db)) {
        const problem = problemOf(policy, uid, signedIn);
        if (problem !== undefined) problems.set(uid, problem);
      }
      return problems;
    },
    invalidate(uids) {
      generation++;
      if (uids === "*") cache.clear();
      else for (const uid of uids) cache.delete(uid);
    },
  };
}
