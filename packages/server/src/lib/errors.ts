/** Creates every error that Holt answers. The transports (REST, gRPC) encode them. */

/** Canonical status codes (google.rpc.Code). */
export const Code = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;
export type Code = (typeof Code)[keyof typeof Code];
const NAMES = new Map<number, string>(Object.entries(Code).map(([name, code]) => [code, name]));
export function codeName(code: Code): string {
  return NAMES.get(code) ?? "UNKNOWN";
}

/** A field with an invalid value. `field` is a dotted path of proto field names, relative to the resource. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** A legal document that the organization has not accepted yet. */
export interface MissingDocument {
  readonly id: string;
  readonly label: string;
  /** URL of the text; may be empty. */
  readonly url: string;
}

/** Machine-readable details; each becomes a google.rpc detail. `kind` is a resource's message name, e.g. `Group`. */
export interface ErrorDetails {
  readonly fieldViolations?: readonly FieldViolation[];
  readonly precondition?: { readonly type: string; readonly description: string };
  readonly resource?: { readonly kind: string; readonly uid: string };
  readonly metadata?: Readonly<Record<string, string>>;
  readonly missingTerms?: readonly MissingDocument[];
  readonly retryAfterSeconds?: number;
}

export class HoltError extends Error {
  override readonly name = "HoltError";
  readonly code: Code;
  readonly details: ErrorDetails;
  constructor(code: Code, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

/** Reports all violations of one validation stage; the message quotes the first. */
export function invalidArguments(violations: readonly FieldViolation[]): HoltError {
  const first = violations[0];
  const text =
    first === undefined ? "the request is malformed" : first.field === "" ? first.description : `${first.field}: ${first.description}`;
  return new HoltError(Code.INVALID_ARGUMENT, `Invalid argument: ${text}`, { fieldViolations: violations });
}

export function invalidArgument(field: string, description: string): HoltError {
  return invalidArguments([{ field, description }]);
}

/** The error with its violations in a part of the request, for an element that is checked by itself. Other errors stay as they are. */
export function withinField(error: unknown, part: string): unknown {
  const violations = error instanceof HoltError ? error.details.fieldViolations : undefined;
  return violations === undefined ? error : invalidArguments(violations.map((each) => ({ ...each, field: `${part}.${each.field}` })));
}

export function notFound(kind: string, uid: string): HoltError {
  return new HoltError(Code.NOT_FOUND, `Not found: ${kind} "${uid}"`, { resource: { kind, uid } });
}

export function alreadyExists(kind: string, uid: string, description: string): HoltError {
  return new HoltError(Code.ALREADY_EXISTS, `Already exists: ${description}`, { resource: { kind, uid } });
}

export function permissionDenied(description: string, metadata?: Record<string, string>): HoltError {
  return new HoltError(Code.PERMISSION_DENIED, `Permission denied: ${description}`, metadata === undefined ? {} : { metadata });
}

/** `type` is the machine-readable name of the violated condition, e.g. RESOURCE_NOT_EMPTY. */
export function failedPrecondition(type: string, description: string): HoltError {
  return new HoltError(Code.FAILED_PRECONDITION, `Precondition failed: ${description}`, { precondition: { type, description } });
}

export function termsNotAccepted(missing: readonly MissingDocument[]): HoltError {
  const precondition = { type: "TERMS_NOT_ACCEPTED", description: "terms not accepted" };
  const ids = missing.map(({ id }) => id).join(", ");
  return new HoltError(
    Code.FAILED_PRECONDITION,
    `Precondition failed: terms not accepted: ${ids}; an owner of the organization accepts them`,
    {
      precondition,
      missingTerms: missing,
    },
  );
}

export function unauthenticated(description: string, options?: ErrorOptions): HoltError {
  return new HoltError(Code.UNAUTHENTICATED, `Unauthenticated: ${description}`, {}, options);
}

export function aborted(description: string): HoltError {
  return new HoltError(Code.ABORTED, `Aborted: ${description}`);
}

export function outOfRange(description: string, metadata?: Record<string, string>): HoltError {
  return new HoltError(Code.OUT_OF_RANGE, `Out of range: ${description}`, metadata === undefined ? {} : { metadata });
}

export function unimplemented(operation: string): HoltError {
  return new HoltError(Code.UNIMPLEMENTED, `${operation} is not implemented by this server`);
}

export function resourceExhausted(description: string, retryAfterSeconds?: number): HoltError {
  return new HoltError(
    Code.RESOURCE_EXHAUSTED,
    `Resource exhausted: ${description}`,
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  );
}

export interface UnavailableOptions extends ErrorOptions {
  /** Only where repeating the call has no effect of its own. */
  readonly retryAfterSeconds?: number;
}

export function unavailable(description: string, { retryAfterSeconds, ...options }: UnavailableOptions = {}): HoltError {
  return new HoltError(
    Code.UNAVAILABLE,
    `Unavailable: ${description}`,
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
    options,
  );
}

/** An unexpected error: the caller learns nothing of its cause, which goes to the log. */
export function internal(cause: unknown): HoltError {
  return new HoltError(Code.INTERNAL, "Internal error", {}, { cause });
}
