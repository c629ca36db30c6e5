/** Reads an error of the API: message, code, request id, and the details that belong to fields or name what is in the way. */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type BadRequest_FieldViolation,
  BadRequestSchema,
  type PreconditionFailure_Violation,
  PreconditionFailureSchema,
} from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { type MissingDocument, TermsNotAcceptedDetailSchema } from "@holt/api/gen/platform/iam/v2/terms_pb.ts";
import { scopeOfFailure } from "../session/call-scope.ts";
import { requestIdOf } from "../session/request-id.ts";

export interface ApiError {
  readonly message: string;
  /** Canonical name such as `NOT_FOUND`. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: readonly BadRequest_FieldViolation[];
  readonly preconditions: readonly PreconditionFailure_Violation[];
  /** Uid of the group or object that the refused call was about; empty for none. */
  readonly scope: string;
  /** Documents that the organization has to accept first. */
  readonly missingTerms: readonly MissingDocument[];
}

export function apiErrorFrom(thrown: unknown): ApiError {
  const error = ConnectError.from(thrown);
  return {
    message: error.rawMessage,
    code: (Code[error.code] ?? "Unknown").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase(),
    requestId: requestIdOf(error),
    fields: error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations),
    preconditions: error.findDetails(PreconditionFailureSchema).flatMap(({ violations }) => violations),
    scope: scopeOfFailure(error),
    missingTerms: error.findDetails(TermsNotAcceptedDetailSchema).flatMap(({ missing }) => missing),
  };
}
