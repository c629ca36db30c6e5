/** Starts tracing if there is an endpoint for it. Without one, no library is loaded. */
import type { Log } from "../lib/log.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";

export interface StartedTracing extends AsyncDisposable {
  readonly tracer: Tracer;
}

/**
 * @param endpoint base URL of an OTLP collector; empty for no tracing
 * @param log gets failures of the collector. It is created later, because its lines have the ids of traces.
 */
export async function startTracing(endpoint: string, log: () => Log): Promise<StartedTracing> {
  if (endpoint === "") return { tracer: noTracer, async [Symbol.asyncDispose]() {} };
  return (await import("./open-telemetry.ts")).startOpenTelemetry(endpoint, log);
}
