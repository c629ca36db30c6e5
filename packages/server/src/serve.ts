/** Runs the server until it is told to stop. */
import { setTimeout as sleep } from "node:timers/promises";
import { type App, createApp } from "./app.ts";
import type { Config } from "./config.ts";
import { createLog, type Log } from "./lib/log.ts";
import { noMeter } from "./lib/meter.ts";
import { keepTickShape } from "./lib/tick-shape.ts";
import type { Metrics } from "./metrics/prometheus.ts";
import { joinSupervisor, type Supervised } from "./supervisor/supervised.ts";
import { type StartedTracing, startTracing } from "./tracing/start-tracing.ts";
import { welcome } from "./welcome.ts";

/** Time for running calls to end after the first signal. */
const DRAIN_MS = 9_000;
/** Time for the last spans to reach their collector. */
const FLUSH_MS = 2_000;

/** Resolves when the server is ready; the process then lives until SIGTERM or SIGINT, or until its supervisor stops it. */
export async function serve(config: Config): Promise<void> {
  keepTickShape();
  const tracing = await startTracing(config.tracesEndpoint, () => log);
  const { tracer } = tracing;
  const supervised = await joinSupervisor();
  const fields = tracer.isActive ? () => ({ traceId: tracer.traceId() }) : undefined;
  const log = createLog(config.logLevel, { fields, process: supervised?.number });
  if (supervised !== undefined) return serveSupervised(supervised, config, { tracing, log });
  const app = await createApp(config, log, { tracer });
  let isStopping = false;
  const stop = (signal: NodeJS.Signals) => {
    // A second signal means: do not wait.
    if (isStopping) process.exit(1);
    isStopping = true;
    void shutDown({ app, tracing }, stopOf(signal, config), log);
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
  process.stdout.write(welcome(config, app.signInLink));
  releaseStartMemory();
}

interface Parts {
  readonly tracing: StartedTracing;
  readonly log: Log;
}

/** Runs one server of several. The supervisor serves the metrics of all, and prints what a start prints. */
async function serveSupervised({ number, reportReady }: Supervised, config: Config, { tracing, log }: Parts): Promise<void> {
  const metrics = config.metricsListen === undefined ? undefined : await createMetricsOf(number);
  const app = await createApp(config, log, { tracer: tracing.tracer, meter: metrics ?? noMeter });
  reportReady({
    signInLink: app.signInLink,
    stop: (signal) => void shutDown({ app, tracing }, stopOf(signal, config), log),
    scrape: async () => (await metrics?.scrape()) ?? "",
  });
  releaseStartMemory();
}

/**
 * A start leaves 15 MB of garbage, which V8 would keep for later. Giving it back takes a tenth of a second of CPU time, so
 * the server says that it is ready first. Only Node's option `--expose-gc` allows it.
 *
 * It must be over before the first request. Such a collection drops the hidden classes of all objects that are not alive then.
 * After a few requests these are the classes of Node's requests and responses, and V8 would create all later ones slowly, which
 * costs a tenth of the CPU time of a request for as long as the process lives.
 */
function releaseStartMemory(): void {
  globalThis.gc?.({ type: "major", flavor: "last-resort" });
}

async function createMetricsOf(process: number): Promise<Metrics> {
  return (await import("./metrics/prometheus.ts")).createMetrics({ process: String(process) });
}

interface Running {
  readonly app: App;
  readonly tracing: StartedTracing;
}

interface Stop {
  readonly signal: NodeJS.Signals;
  readonly delayMs: number;
}

/** The delay lets load balancers notice the stop. A person who presses Ctrl+C need not wait for it. */
function stopOf(signal: NodeJS.Signals, { stopDelayMs }: Config): Stop {
  return { signal, delayMs: signal === "SIGTERM" ? stopDelayMs : 0 };
}

async function shutDown({ app, tracing }: Running, { signal, delayMs }: Stop, log: Log): Promise<void> {
  if (delayMs > 0) {
    log.info({ signal, delayMs }, "not ready any more: stopping after the delay");
    app.announceStop();
    await sleep(delayMs);
  }
  log.info({ signal }, "stopping: waiting for running calls");
  const timeout = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), DRAIN_MS).unref());
  if ((await Promise.race([app.drain(), timeout])) === "late") log.warn("stopping: closing the connections of calls that still run");
  await app[Symbol.asyncDispose]();
  await Promise.race([tracing[Symbol.asyncDispose](), sleep(FLUSH_MS, undefined, { ref: false })]);
  log.info("stopped");
  log.flush(() => process.exit(0));
}
