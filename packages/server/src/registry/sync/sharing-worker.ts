/** Copies changed fields of sources to the repos that are synced from them, in the background. */

import { createPace } from "../../jobs/pace.ts";
import { LostLease, Worker } from "../../jobs/worker.ts";
import type { Log } from "../../lib/log.ts";
import { createShareQueue, type ShareQueueOptions } from "./share-queue.ts";

const RENEW_MS = 15_000;
/** How often to look for sources that other servers queued or left behind. */
const POLL_MS = 2000;
/** Other writers have at least half of the time. */
const PAUSE_FACTOR = 1;

export function startSharing(options: ShareQueueOptions & { readonly log: Log }): Worker<string> {
  const { store, log } = options;
  const queue = createShareQueue(options);
  const pollMs = store.dialect.notify === undefined ? Number.POSITIVE_INFINITY : POLL_MS;
  return new Worker<string>({
    name: "copying fields to synced repos",
    log,
    lease: queue.lease,
    renewMs: RENEW_MS,
    maxRuns: 1,
    keyOf: (sourceUid) => sourceUid,
    async claim() {
      const sourceUid = await queue.claim();
      return { claimed: sourceUid === undefined ? [] : [sourceUid], nextMs: pollMs };
    },
    async run(sourceUid, signal) {
      const pace = createPace({ pauseFactor: PAUSE_FACTOR, signal });
      try {
        while (!signal.aborted && (await pace(() => queue.shareChunk(sourceUid))));
      } catch (error) {
        if (!(error instanceof LostLease) && !signal.aborted) throw error;
      }
    },
  });
}
