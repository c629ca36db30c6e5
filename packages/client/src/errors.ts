/** The one error of this client. */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "@holt/api/gen/google/rpc/error_details_pb.ts";

export interface FieldViolation {
  /** The path of the field, e.g. `group.name`. */
  readonly field: string;
  readonly description: string;
}

/** Something that must change before the call can succeed. */
export interface Precondition {
  readonly type: string;
  readonly subject: string;
  readonly description: string;
}

/** The name of a gRPC code, e.g. `NOT_FOUND`. */
export type CodeName = string;

/** A call that failed, with everything that the server said about it. */
export class HoltError extends Error {
  override readonly name = "HoltError";
  readonly code: CodeName;
  /** The cause in the server's words for programs; empty if it names none. */
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fieldViolations: readonly FieldViolation[];
  readonly preconditions: readonly Precondition[];
  /** The resource that the error is about, if the server names one. */
  readonly resource: { readonly type: string; readonly name: string } | undefined;
  /** The time that the server asks a client to wait before it repeats the call. */
  readonly retryDelayMs: number | undefined;
  /** For the operator, who finds the call in the server's log by it. */
  readonly requestId: string;

  constructor(error: ConnectError, requestId: string) {
    super(error.rawMessage, { cause: error });
    const [info] = error.findDetails(ErrorInfoSchema);
    const [resource] = error.findDetails(ResourceInfoSchema);
    this.code = codeName(error.code);
    this.reason = info?.reason ?? "";
    this.domain = info?.domain ?? "";
    this.metadata = info?.metadata ?? {};
    this.fieldViolations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
    this.preconditions = error.findDetails(PreconditionFailureSchema).flatMap(({ violations }) => violations);
    this.resource = resource && { type: resource.resourceType, name: resource.resourceName };
    this.retryDelayMs = retryDelayOf(error);
    this.requestId = requestId;
  }
}

/** Converts the errors of Connect, which knows only codes and undecoded details. Leaves a HoltError as it is, also a wrapped one. */
export function errorFrom(error: unknown, requestId = ""): HoltError {
  if (error instanceof HoltError) return error;
  const { cause } = error as { cause?: unknown };
  return cause instanceof HoltError ? cause : new HoltError(ConnectError.from(error), requestId);
}

/** `NOT_FOUND` for Code.NotFound. */
export function codeName(code: Code): CodeName {
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

function retryDelayOf(error: ConnectError): number | undefined {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  if (delay !== undefined) return Number(delay.seconds) * 1000 + delay.nanos / 1_000_000;
  const seconds = Number(error.metadata.get("retry-after") ?? Number.NaN);
  return Number.isNaN(seconds) ? undefined : seconds * 1000;
}
