/** Releases the unused pages of a database file to the file system, in the background: in small paced chunks. */
import type { FreePages, Store } from "../db/store.ts";
import type { Log } from "../lib/log.ts";
import { Loop, waitFully } from "./loop.ts";
import { createPace } from "./pace.ts";

const INTERVAL_MS = 600_000;
/** How long others have the database after each chunk, as a multiple of its time. */
const PAUSE_FACTOR = 3;
/** Pages of 4 KiB per transaction. */
const PAGES_PER_CHUNK = 64;
/** Unused pages that stay, because the next writes need them: at least this many, or this part of the file. */
const MIN_KEPT = 1000;
const KEPT_PART = 0.05;

/** Does nothing for a database that releases its pages itself, and for a file that cannot shrink. */
export function startReleasingPages({ freePages }: Pick<Store, "freePages">, log: Log): AsyncDisposable {
  if (freePages === undefined) return { async [Symbol.asyncDispose]() {} };
  const stop = new AbortController();
  const loop = new Loop({
    name: "releasing unused pages",
    log,
    spacingMs: 1000,
    step: waitFully(async () => {
      await releasePages(freePages, stop.signal);
      return INTERVAL_MS;
    }),
  });
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await loop[Symbol.asyncDispose]();
    },
  };
}

/** Stops early, without an error, if the signal is aborted. */
export async function releasePages(pages: FreePages, signal?: AbortSignal): Promise<void> {
  const pace = createPace({ pauseFactor: PAUSE_FACTOR, signal });
  try {
    for (let left = surplusOf(await pages.count()); left > 0; left -= PAGES_PER_CHUNK)
      await pace(() => pages.release(Math.min(left, PAGES_PER_CHUNK)));
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

function surplusOf({ free, total }: Awaited<ReturnType<FreePages["count"]>>): number {
  return free - Math.max(MIN_KEPT, Math.ceil(KEPT_PART * total));
}
