/** How many lists may be looked through one by one at a time: each takes the processor for as long as hundreds of other requests. */
import { resourceExhausted } from "../lib/errors.ts";

export interface ScanLimit {
  /** @throws RESOURCE_EXHAUSTED, where others are at it already */
  run<T>(scan: () => Promise<T>): Promise<T>;
}

export function createScanLimit(max: number): ScanLimit {
  let running = 0;
  return {
    async run(scan) {
      if (running >= max) throw resourceExhausted("the server is searching directories already; try again shortly", 1);
      running++;
      try {
        return await scan();
      } finally {
        running--;
      }
    },
  };
}
