/**
 * Asserts that requests cost the main thread little CPU time and the process little memory. The limits of CPU time are
 * those of a normal machine. A slower machine gets as many times more as a reference work takes there (`slowness`).
 */
import assert from "node:assert/strict";
import { isWithin, slowness } from "../cpu-cost.ts";
import type { Cost, MeteredClient, MeteredRequest } from "./metered-client.ts";
import { startTurnMeter } from "./turn-meter.ts";

const MAX_CPU_MS = 50;
const MAX_MEMORY_MB = 64;
/** Without a pause, in the background. Twice as long, because such work can neither be repeated nor kept from a major collection. */
const MAX_TURN_MS = 2 * MAX_CPU_MS;
/** Other work of the server and of the machine disturbs a measurement, but not each time. */
const ATTEMPTS = 4;

export interface CostChecks {
  /** Sends a request that the server answers without a fault, and without much CPU time or memory. */
  assertCheap(what: string, request: MeteredRequest): Promise<Cost>;
  /** The same for each document in each size. @param requestFor makes a request of a document */
  assertAllCheap<Document extends string | Uint8Array>(
    documents: Readonly<Record<string, (bytes: number) => Document>>,
    sizes: readonly number[],
    requestFor: (document: Document) => MeteredRequest,
  ): Promise<void>;
}

/** Whether a request that cost the main thread this CPU time costs a normal machine little. */
export function isCheap(cpuMs: number): boolean {
  return isWithin(MAX_CPU_MS, cpuMs);
}

/** @param clientOf called once the client is started */
export function createCostChecks(clientOf: () => MeteredClient): CostChecks {
  async function assertCheap(what: string, request: MeteredRequest): Promise<Cost> {
    const client = clientOf();
    let best = await client.send(request);
    for (let i = 1; i < ATTEMPTS && (best.cpuMs > MAX_CPU_MS || best.memoryMb > MAX_MEMORY_MB); i++) {
      const cost = await client.send(request);
      best = { ...cost, cpuMs: Math.min(best.cpuMs, cost.cpuMs), memoryMb: Math.min(best.memoryMb, cost.memoryMb) };
    }
    const { status, text, cpuMs, memoryMb } = best;
    assert.ok(status >= 200 && status < 500, `${what}: ${status} ${text}`);
    assert.ok(isCheap(cpuMs), `${what}: ${cpuMs.toFixed()} ms of CPU time`);
    assert.ok(memoryMb <= MAX_MEMORY_MB, `${what}: ${memoryMb.toFixed()} MB`);
    return best;
  }

  return {
    assertCheap,
    async assertAllCheap(documents, sizes, requestFor) {
      const [first] = Object.values(documents);
      // The first request compiles code and fills caches.
      if (first !== undefined) await clientOf().send(requestFor(first(64)));
      for (const [name, documentOf] of Object.entries(documents))
        for (const size of sizes) await assertCheap(`${name}, ${size} bytes`, requestFor(documentOf(size)));
    },
  };
}

/** Waits for work in the background, which must let others run. */
export async function assertYielding<T>(what: string, work: () => Promise<T>): Promise<T> {
  // The meter would count the reference work of a check within `work`.
  slowness();
  using meter = startTurnMeter();
  const result = await work();
  const { longestMs } = meter;
  assert.ok(isWithin(MAX_TURN_MS, longestMs), `${what}: ${longestMs.toFixed()} ms of CPU time without a pause`);
  return result;
}
