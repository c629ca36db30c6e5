/** Asserts which error a REST response contains. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, codeName } from "../../src/lib/errors.ts";
import type { HttpAnswer } from "./clients.ts";

interface ErrorBody {
  readonly code: Code;
  readonly message: string;
  readonly details: readonly {
    readonly "@type": string;
    readonly reason?: string;
    readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[];
    readonly violations?: readonly { readonly type: string; readonly description: string }[];
    readonly resourceType?: string;
    readonly resourceName?: string;
  }[];
}

const STATUS: Partial<Record<Code, number>> = {
  [Code.INVALID_ARGUMENT]: 400,
  [Code.FAILED_PRECONDITION]: 400,
  [Code.UNAUTHENTICATED]: 401,
  [Code.PERMISSION_DENIED]: 403,
  [Code.NOT_FOUND]: 404,
  [Code.ALREADY_EXISTS]: 409,
  [Code.UNIMPLEMENTED]: 501,
};

/**
 * Asserts code, HTTP status and reason.
 * @returns the body
 */
export function assertRefused(answer: HttpAnswer, code: Code): ErrorBody {
  const body = JSON.parse(answer.text === "" ? "{}" : answer.text) as ErrorBody;
  assert.equal(body.code, code, answer.text);
  assert.equal(answer.status, STATUS[code]);
  assert.equal(body.details[0]?.reason, codeName(code));
  return body;
}

/** The fields that violations in the details of an error name, in their order. */
export function fieldsOf(details: readonly JsonObject[]): string[] {
  return details.flatMap(({ fieldViolations = [] }) => (fieldViolations as { field: string }[]).map(({ field }) => field));
}

/** Asserts INVALID_ARGUMENT with violations of exactly these fields, in this order, and the message of the first. */
export function assertInvalid(answer: HttpAnswer, ...fields: string[]): void {
  const { message, details } = assertRefused(answer, Code.INVALID_ARGUMENT);
  const violations = details[1]?.fieldViolations ?? [];
  assert.deepEqual(
    violations.map(({ field }) => field),
    fields,
    answer.text,
  );
  assert.equal(message, `Invalid argument: ${violations[0]?.field}: ${violations[0]?.description}`);
}

/** Asserts FAILED_PRECONDITION with this violation and its message. */
export function assertPrecondition(answer: HttpAnswer, type: string, description: string): void {
  const { message, details } = assertRefused(answer, Code.FAILED_PRECONDITION);
  assert.deepEqual(details[1]?.violations, [{ type, description }]);
  assert.equal(message, `Precondition failed: ${description}`);
}

/** Asserts NOT_FOUND or ALREADY_EXISTS for this kind of resource. */
export function assertAbout(answer: HttpAnswer, code: Code, kind: string, uid?: string): void {
  const { details } = assertRefused(answer, code);
  assert.equal(details[1]?.resourceType, `iam.holt.dev/${kind}`);
  if (uid !== undefined) assert.equal(details[1]?.resourceName, uid);
}
