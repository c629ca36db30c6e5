/** Starts tracing if there is an endpoint for it. Without one, no library is loaded. */
import { noTracer, type Tracer } from "../lib/tracer.ts";

export interface StartedTracing extends AsyncDisposable {
  readonly tracer: Tracer;
}

/** @param endpoint base URL of an OTLP collector; empty for no tracing */
export async function startTracing(endpoint: string): Promise<StartedTracing> {
  if (endpoint === "") return { tracer: noTracer, async [Symbol.asyncDispose]() {} };
  return (await import("./open-telemetry.ts")).startOpenTelemetry(endpoint);
}
