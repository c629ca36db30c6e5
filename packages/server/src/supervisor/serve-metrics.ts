/** Serves the metrics of all server processes in one answer, each series with the number of its process. */
import type { Log } from "../lib/log.ts";
import { type MetricsAddress, type MetricsListener, startMetricsListener } from "../metrics/metrics-listener.ts";
import { createMetrics } from "../metrics/prometheus.ts";
import { mergeMetrics } from "./merge-metrics.ts";
import type { Supervisor } from "./supervisor.ts";

/** @throws Error for the operator if the address is not available */
export function serveMetrics(address: MetricsAddress, supervisor: Supervisor, log: Log): Promise<MetricsListener> {
  const own = createMetrics({ process: "supervisor" });
  own.read({ type: "gauge", name: "holt_processes_serving", help: "Server processes of HOLT_PROCESSES that are ready." }, () => [
    { value: supervisor.serving().length },
  ]);
  own.read({ type: "counter", name: "holt_process_restarts_total", help: "Server processes that ended and were started again." }, () => [
    { value: supervisor.restarts },
  ]);
  const scrape = async () => {
    const texts = await Promise.all([own.scrape(), ...supervisor.serving().map((process) => process.scrape())]);
    return mergeMetrics(texts.filter((text) => text !== undefined));
  };
  return startMetricsListener(address, { contentType: own.contentType, scrape }, log);
}
