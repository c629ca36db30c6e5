/** Limits the calls per second of organizations and of identities in them, on this server. */
import { type LimitName, type Limits, limitExceeded, readLimits } from "../../db/organization-limits.ts";
import type { ReadDb } from "../../db/store.ts";
import { Lru } from "../../lib/lru.ts";

/** How long a cached limit is used; a change takes effect after it. */
const LIMITS_AGE_MS = 2_000;
const MAX_ORGANIZATIONS = 10_000;
const MAX_BUCKETS = 50_000;

/** Saved calls, at most those of one second. */
interface Bucket {
  calls: number;
  at: number;
}

export interface CallRates {
  /**
   * Counts a call in each of the organizations, by their uids. A call that one limit refuses counts in none.
   * @returns undefined if the limits are known and allow the call
   * @throws RESOURCE_EXHAUSTED with the seconds after which one call is allowed
   */
  admit(organizations: readonly string[], principal: string | undefined, db: ReadDb): Promise<void> | undefined;
}

/**
 * Token buckets, each of which fills up within a second.
 * @returns finds the bucket of the key, filled until now, or throws RESOURCE_EXHAUSTED if it has no call left
 */
function createBuckets(now: () => number): (key: string, name: LimitName, limit: number) => Bucket {
  const buckets = new Lru<string, Bucket>(MAX_BUCKETS);

  function newBucket(key: string, calls: number, at: number): Bucket {
    const bucket = { calls, at };
    buckets.set(key, bucket);
    return bucket;
  }

  return (key, name, limit) => {
    const at = now();
    const bucket = buckets.get(key) ?? newBucket(key, limit, at);
    bucket.calls = Math.min(limit, bucket.calls + ((at - bucket.at) / 1000) * limit);
    bucket.at = at;
    if (bucket.calls >= 1) return bucket;
    throw limitExceeded({ name, limit, usage: limit, retryAfterSeconds: Math.ceil((1 - bucket.calls) / limit) });
  };
}

/** @param now a monotonic clock, in milliseconds */
export function createCallRates(now: () => number = () => performance.now()): CallRates {
  const known = new Lru<string, { readonly limits: Limits; readonly at: number }>(MAX_ORGANIZATIONS);
  const findBucket = createBuckets(now);

  async function load(orgUid: string, db: ReadDb): Promise<Limits> {
    const limits = await readLimits(db, orgUid);
    known.set(orgUid, { limits, at: now() });
    return limits;
  }

  function bucketsOf(orgUid: string, principal: string | undefined, limits: Limits): Bucket[] {
    const { calls_per_second: ofAll, calls_per_second_per_identity: ofOne } = limits;
    const buckets: Bucket[] = [];
    if (ofOne !== undefined) buckets.push(findBucket(`${orgUid} ${principal ?? ""}`, "calls_per_second_per_identity", ofOne));
    if (ofAll !== undefined) buckets.push(findBucket(orgUid, "calls_per_second", ofAll));
    return buckets;
  }

  /** Takes a call from all buckets, or from none if one of them refuses it. */
  function take(organizations: readonly string[], principal: string | undefined, limits: readonly Limits[]): void {
    for (const bucket of organizations.flatMap((orgUid, i) => bucketsOf(orgUid, principal, limits[i]!))) bucket.calls--;
  }

  function knownLimits(orgUid: string): Limits | undefined {
    const found = known.get(orgUid);
    return found !== undefined && now() - found.at < LIMITS_AGE_MS ? found.limits : undefined;
  }

  /** Looks at no bucket before all limits are read, so that a refusal leaves no promise behind. */
  async function readAndTake(organizations: readonly string[], principal: string | undefined, db: ReadDb): Promise<void> {
    const limits: Limits[] = [];
    for (const orgUid of organizations) limits.push(knownLimits(orgUid) ?? (await load(orgUid, db)));
    take(organizations, principal, limits);
  }

  return {
    admit(organizations, principal, db) {
      const limits: Limits[] = [];
      for (const orgUid of organizations) {
        const ofOrganization = knownLimits(orgUid);
        if (ofOrganization === undefined) return readAndTake(organizations, principal, db);
        limits.push(ofOrganization);
      }
      take(organizations, principal, limits);
      return undefined;
    },
  };
}
