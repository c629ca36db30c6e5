/** Converts errors to google.rpc.Status. REST renders it as JSON and gRPC sends it unchanged, so both have the same details. */
import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { type Status, StatusSchema } from "@holt/api/gen/google/rpc/status_pb.ts";
import { TermsNotAcceptedDetailSchema as TermsNotAcceptedDetailV1Schema } from "@holt/api/gen/platform/iam/v1/terms_pb.ts";
import { TermsNotAcceptedDetailSchema } from "@holt/api/gen/platform/iam/v2/terms_pb.ts";
import { Code, codeName, type HoltError } from "../lib/errors.ts";
import { type VendorProfile, wireName } from "../lib/vendor-profile.ts";
import type { Operation } from "./call/operation.ts";
import { domainOfKind } from "./resource-domains.ts";

export interface ErrorDetail {
  readonly schema: DescMessage;
  readonly message: Message;
}

/** Codes without details: a client could not act on them, or should not know them. */
const WITHOUT_REASON: ReadonlySet<Code> = new Set([
  Code.CANCELLED,
  Code.UNKNOWN,
  Code.DEADLINE_EXCEEDED,
  Code.UNIMPLEMENTED,
  Code.INTERNAL,
  Code.UNAVAILABLE,
  Code.DATA_LOSS,
]);

/** Context for error details: vendor names, domain and version of the call. */
export interface ErrorContext {
  readonly profile: VendorProfile;
  /** Domain of the operation, e.g. `iam`; empty if no operation was known yet. */
  readonly domain: string;
  /** Version of the API that the client called, in its spelling (`v1`, `v2beta1`); undefined if no operation was known yet. */
  readonly version: string | undefined;
}

/** @param alias the version that the client called, if it is an alias */
export function errorContextOf({ domain, method }: Operation, alias: string | undefined, profile: VendorProfile): ErrorContext {
  return { profile, domain, version: alias ?? method.parent.typeName.split(".")[2] };
}

export function unknownOperation(profile: VendorProfile): ErrorContext {
  return { profile, domain: "", version: undefined };
}

export function statusFromError(error: HoltError, context: ErrorContext): Status {
  const details = errorDetails(error, context).map(({ schema, message }) => ({
    ...anyPack(schema, message),
    typeUrl: typeUrlOf(schema, context),
  }));
  return create(StatusSchema, { code: error.code, message: error.message, details });
}

/** Messages of the contract have the name by which the client knows them, in its version and profile. */
export function typeUrlOf({ typeName }: DescMessage, { profile, version }: ErrorContext): string {
  return `type.googleapis.com/${wireName(profile, typeName, version)}`;
}

/** The entries of google.rpc.Status.details, not packed yet. ErrorInfo comes first (AIP-193). */
export function errorDetails({ code, details }: HoltError, { domain, profile, version }: ErrorContext): ErrorDetail[] {
  const errorDomain = domain === "" ? profile.errorDomain : `${domain}.${profile.errorDomain}`;
  const found: ErrorDetail[] = [];
  const add = (schema: DescMessage, init: object): void => void found.push({ schema, message: create(schema, init as never) });

  if (!WITHOUT_REASON.has(code)) add(ErrorInfoSchema, { reason: codeName(code), domain: errorDomain, metadata: details.metadata });
  if (details.fieldViolations !== undefined) add(BadRequestSchema, { fieldViolations: details.fieldViolations });
  if (details.precondition !== undefined) add(PreconditionFailureSchema, { violations: [details.precondition] });
  const termsSchema = version === "v1" ? TermsNotAcceptedDetailV1Schema : TermsNotAcceptedDetailSchema;
  if (details.missingTerms !== undefined) add(termsSchema, { missing: details.missingTerms });
  if (details.resource !== undefined) {
    const { kind, uid } = details.resource;
    const own = domainOfKind(kind);
    const resourceDomain = own === undefined ? errorDomain : `${own}.${profile.errorDomain}`;
    add(ResourceInfoSchema, { resourceType: `${resourceDomain}/${kind}`, resourceName: uid });
  }
  if (details.retryAfterSeconds !== undefined) add(RetryInfoSchema, { retryDelay: durationOf(details.retryAfterSeconds) });
  return found;
}

function durationOf(seconds: number): Message {
  const whole = Math.floor(seconds);
  return create(DurationSchema, { seconds: BigInt(whole), nanos: Math.round((seconds - whole) * 1e9) });
}
