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
   * Counts a call in each of the organizations, by their uids.
   * @returns undefined if the limits are known and allow the call
   * @throws RESOURCE_EXHAUSTED with the seconds after which one call is allowed
   */
  admit(organizations: readonly string[], principal: string | undefined, db: ReadDb): Promise<void> | undefined;
}

/**
 * Token buckets, each of which fills up within a second.
 * @returns takes a call from the bucket of the key, or throws RESOURCE_EXHAUSTED
 */
function createBuckets(now: () => number): (key: string, name: LimitName, limit: number) => void {
  const buckets = new Lru<string, Bucket>(MAX_BUCKETS);

  function newBucket(key: string, calls: number, at: number): Bucket {
    const bucket = { calls, at };
    buckets.set(key, bucket);
    return bucket;
  }

  return (key, name, limit) => {
    const at = now();
    const bucket = buckets.get(key) ?? newBucket(key, limit, at);
    const calls = Math.min(limit, bucket.calls + ((at - bucket.at) / 1000) * limit);
    const isAllowed = calls >= 1;
    bucket.calls = isAllowed ? calls - 1 : calls;
    bucket.at = at;
    if (!isAllowed) throw limitExceeded({ name, limit, usage: limit, retryAfterSeconds: Math.ceil((1 - calls) / limit) });
  };
}

/** @param now a monotonic clock, in milliseconds */
export function createCallRates(now: () => number = () => performance.now()): CallRates {
  const known = new Lru<string, { readonly limits: Limits; readonly at: number }>(MAX_ORGANIZATIONS);
  const take = createBuckets(now);

  async function load(orgUid: string, db: ReadDb): Promise<Limits> {
    const limits = await readLimits(db, orgUid);
    known.set(orgUid, { limits, at: now() });
    return limits;
  }

  function takeAll(orgUid: string, principal: string | undefined, limits: Limits): void {
    const { calls_per_second: ofAll, calls_per_second_per_identity: ofOne } = limits;
    if (ofOne !== undefined) take(`${orgUid} ${principal ?? ""}`, "calls_per_second_per_identity", ofOne);
    if (ofAll !== undefined) take(orgUid, "calls_per_second", ofAll);
  }

  function knownLimits(orgUid: string): Limits | undefined {
    const found = known.get(orgUid);
    return found !== undefined && now() - found.at < LIMITS_AGE_MS ? found.limits : undefined;
  }

  /** Takes nothing before all limits are read, so that a refusal leaves no promise behind. */
  async function readAndTake(organizations: readonly string[], principal: string | undefined, db: ReadDb): Promise<void> {
    const limits: Limits[] = [];
    for (const orgUid of organizations) limits.push(knownLimits(orgUid) ?? (await load(orgUid, db)));
    for (const [i, orgUid] of organizations.entries()) takeAll(orgUid, principal, limits[i]!);
  }

  return {
    admit(organizations, principal, db) {
      for (const orgUid of organizations) if (knownLimits(orgUid) === undefined) return readAndTake(organizations, principal, db);
      for (const orgUid of organizations) takeAll(orgUid, principal, known.get(orgUid)!.limits);
      return undefined;
    },
  };
}
