/** Records spans with OpenTelemetry and sends them to an OTLP endpoint. Only this file knows the libraries, and they are loaded with it. */
import { context, SpanKind as Kind, type Attributes as OtelAttributes, propagation, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from "@opentelemetry/sdk-trace-node";
import packageJson from "../../package.json" with { type: "json" };
import type { Log } from "../lib/log.ts";
import type { Attributes, SpanKind, TraceHeaders, Tracer } from "../lib/tracer.ts";
import type { StartedTracing } from "./start-tracing.ts";

const KINDS: Readonly<Record<SpanKind, Kind>> = { server: Kind.SERVER, client: Kind.CLIENT, internal: Kind.INTERNAL };

/** @param endpoint base URL of the collector; spans go to `/v1/traces` below it */
export function startOpenTelemetry(endpoint: string, log: () => Log): StartedTracing {
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over these.
  const own = resourceFromAttributes({ "service.name": "holt", "service.version": packageJson.version });
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const exporter = reportingExporter(new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, "")}/v1/traces` }), log);
  const provider = new NodeTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
  // Sets the global context manager and W3C Trace Context as the propagator.
  provider.register();
  return {
    tracer: createTracer(provider),
    async [Symbol.asyncDispose]() {
      // A collector that is down must not fail the stop.
      await provider.shutdown().catch(() => {});
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

/** Logs when the collector begins to fail and when it works again. The library drops what it cannot send without a word. */
function reportingExporter(exporter: SpanExporter, log: () => Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined && !isFailing)
          log().warn({ reason: error.message }, "sending traces failed; spans are lost until it works");
        if (error === undefined && isFailing) log().info("sending traces works again");
        isFailing = error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

function createTracer(provider: NodeTracerProvider): Tracer {
  const tracer = provider.getTracer("holt", packageJson.version);
  return {
    isActive: true,
    span({ name, kind = "internal", attributes = {}, parent }, work) {
      const within = parent === undefined ? context.active() : contextFrom(parent);
      return tracer.startActiveSpan(name, { kind: KINDS[kind], attributes: present(attributes) }, within, async (span) => {
        try {
          return await work({ set: (more) => void span.setAttributes(present(more)) });
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) });
          throw error;
        } finally {
          span.end();
        }
      });
    },
    bind: (work) => context.bind(context.active(), work),
    headers() {
      const carrier: Record<string, string> = {};
      propagation.inject(context.active(), carrier);
      return carrier;
    },
    traceId: () => trace.getActiveSpan()?.spanContext().traceId,
  };
}

function contextFrom({ traceparent, tracestate }: TraceHeaders) {
  return propagation.extract(context.active(), { ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) });
}

function present(attributes: Attributes): OtelAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
