/** Starts what measures the server. Without an address nothing is measured, and no library is loaded. */
import type { Log } from "../lib/log.ts";
import { type Meter, noMeter } from "../lib/meter.ts";
import type { MetricsAddress } from "./metrics-listener.ts";

export interface StartedMetrics extends AsyncDisposable {
  readonly meter: Meter;
}

/** @param address undefined for no metrics @throws Error for the operator if the address is not available */
export async function startMetrics(address: MetricsAddress | undefined, log: Log): Promise<StartedMetrics> {
  if (address === undefined) return { meter: noMeter, async [Symbol.asyncDispose]() {} };
  const [{ createMetrics }, { startMetricsListener }] = await Promise.all([import("./prometheus.ts"), import("./metrics-listener.ts")]);
  const meter = createMetrics();
  const listener = await startMetricsListener(address, meter, log);
  return { meter, [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose]() };
}
