/**
 * The interface through which the server traces its work. Only the folder tracing/ knows OpenTelemetry. A span begun
 * inside the work of another one becomes its child.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Headers of a request, among them those of W3C Trace Context. */
export type TraceHeaders = Readonly<NodeJS.Dict<string | string[]>>;

export interface Span {
  /** Adds what is known only during the work. Values must not contain secrets. */
  set(attributes: Attributes): void;
}

export type SpanKind = "server" | "client" | "internal";

export interface SpanOptions {
  /** Few different names: an operation, not a uid. */
  readonly name: string;
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** Headers of the request that the span serves, whose trace it continues. */
  readonly parent?: TraceHeaders;
}

export interface Tracer {
  /** Whether spans are recorded. */
  readonly isActive: boolean;
  /** Runs the work in a span, which ends with the work and records its error. */
  span<T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** The function, to be run in the trace of this moment: for work that a queue runs later. */
  bind<F extends (...parameters: never[]) => unknown>(work: F): F;
  /** Headers that continue the trace of this moment at another server. */
  headers(): Readonly<Record<string, string>>;
  /** Id of the trace of this moment, 32 hexadecimal digits; undefined outside of spans. */
  traceId(): string | undefined;
}

const nowhere: Span = { set() {} };
const noHeaders: Readonly<Record<string, string>> = {};

/** Records nothing, for servers without an endpoint for traces and for commands. */
export const noTracer: Tracer = {
  isActive: false,
  span: (_options, work) => work(nowhere),
  bind: (work) => work,
  headers: () => noHeaders,
  traceId: () => undefined,
};
