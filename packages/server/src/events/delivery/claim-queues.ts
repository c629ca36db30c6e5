/** Claims queues that have something to send, as many as this server has slots and a share for, and says when to look again. */
import type { ClaimResult } from "../../jobs/worker.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ClaimedQueue, Queues } from "./queues.ts";
import type { Share } from "./server-share.ts";
import type { DeliverySlots } from "./slots.ts";

export interface ClaimParts {
  readonly queues: Queues;
  readonly slots: DeliverySlots;
  readonly clock: Clock;
  /** How often to look for queues that other servers made due or left behind; Infinity where there are no other servers. */
  readonly pollMs: number;
}

/** Queues of each kind per claim: on SQLite the run of each begins with a read that cannot be interrupted. */
const MAX_CLAIMS = 32;
/** How often to look for queues while another server is busy with some or leaves some to others, so that servers share a backlog. */
const HELP_MS = 100;
/** The share where nothing is due, or where this server has no capacity. */
const NOTHING: Share = { queues: Number.POSITIVE_INFINITY, hasSome: false, hasUnlimited: false, isExceeded: false };

export async function claimQueues({ queues, slots, clock, pollMs }: ClaimParts): Promise<ClaimResult<ClaimedQueue>> {
  const { isDue, isBehind, next } = await queues.look();
  const capacity = slots.capacity();
  const hasCapacity = capacity.healthy.free() > 0 || capacity.failing.free() > 0;
  const share = hasCapacity ? await shareOf(queues, isDue, isBehind) : NOTHING;
  const claimed = isDue && share.hasSome ? await queues.claim(capacity, { most: MAX_CLAIMS, share }) : [];
  if (claimed.length >= MAX_CLAIMS) return { claimed, nextMs: 0 };
  const dueMs = next === null ? Number.POSITIVE_INFINITY : Math.max(0, Date.parse(next) - clock.now().getTime());
  const leavesSome = isDue && share.queues < MAX_CLAIMS;
  const mayHelp = isBehind && share.queues > 0;
  return { claimed, nextMs: Math.min((mayHelp || leavesSome) && hasCapacity ? HELP_MS : pollMs, dueMs) };
}

/** Where nothing can be claimed now, the share only decides when to look again. */
async function shareOf(queues: Queues, isDue: boolean, isBehind: boolean): Promise<Share> {
  if (isDue) return queues.share();
  return isBehind ? queues.recentShare() : NOTHING;
}
