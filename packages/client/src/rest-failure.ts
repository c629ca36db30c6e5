/** Converts failures of REST calls. Loaded only when a call fails. */
import { type DescMessage, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { connectionReasonOf } from "./connection-reason.ts";
import { HoltError } from "./errors.ts";
import { RefusedAnswer, UnreadableAnswer } from "./rest.ts";

/** `google.rpc.Status`, or the error of OAuth endpoints. */
interface ErrorBody {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
  readonly error?: unknown;
  readonly error_description?: unknown;
}

const DETAILS = new Map<string, DescMessage>(
  [BadRequestSchema, ErrorInfoSchema, PreconditionFailureSchema, ResourceInfoSchema, RetryInfoSchema].map((schema) => [
    `type.googleapis.com/${schema.typeName}`,
    schema,
  ]),
);

/** Answers of proxies have no code of the API. */
const CODE_OF_STATUS = new Map([
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.NotFound],
  [409, Code.AlreadyExists],
  [412, Code.FailedPrecondition],
  [413, Code.ResourceExhausted],
  [416, Code.OutOfRange],
  [429, Code.ResourceExhausted],
  [501, Code.Unimplemented],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.DeadlineExceeded],
]);

const MAX_PLAIN_TEXT = 1000;

export async function restFailureFrom(error: unknown, baseUrl: string): Promise<HoltError> {
  if (error instanceof HoltError) return error;
  if (error instanceof RefusedAnswer) return refusalFrom(error);
  const { name } = error as Error;
  if (name === "TimeoutError") return new HoltError(new ConnectError(`${baseUrl} did not answer in time`, Code.DeadlineExceeded), "");
  if (name === "AbortError") return new HoltError(new ConnectError("the call was ended", Code.Canceled), "");
  if (error instanceof UnreadableAnswer)
    return new HoltError(new ConnectError(`${baseUrl} did not answer with JSON: is it a Holt server?`, Code.Unknown), "");
  if (!(error instanceof TypeError)) throw error;
  const reason = connectionReasonOf(error);
  return new HoltError(new ConnectError(`cannot reach ${baseUrl}: ${reason}`, Code.Unavailable, undefined, undefined, error), "");
}

function refusalFrom({ response, body, requestId }: RefusedAnswer): HoltError {
  const { code, message, details, error, error_description } = parseBody(body);
  const known = typeof code === "number" && code in Code ? (code as Code) : undefined;
  const text = [
    message,
    error_description,
    error,
    plainText(response, body),
    `the server answered ${response.status} ${response.statusText}`,
  ].find((candidate) => typeof candidate === "string" && candidate !== "") as string;
  const retryAfter = response.headers.get("retry-after");
  const metadata = retryAfter === null ? undefined : { "retry-after": retryAfter };
  const refusal = new ConnectError(text, known ?? CODE_OF_STATUS.get(response.status) ?? Code.Unknown, metadata, detailsOf(details, error));
  return new HoltError(refusal, response.headers.get("x-request-id") ?? requestId);
}

/** Libraries answer their clients, such as pip and Maven, with plain text. */
function plainText(response: Response, body: string): string {
  return (response.headers.get("content-type") ?? "").startsWith("text/plain") ? body.trim().slice(0, MAX_PLAIN_TEXT) : "";
}

function parseBody(body: string): ErrorBody {
  try {
    return (JSON.parse(body) as ErrorBody | null) ?? {};
  } catch {
    return {};
  }
}

/** @param oauthError the code of an OAuth error, such as `slow_down`, which becomes the reason */
function detailsOf(details: unknown, oauthError: unknown) {
  if (!Array.isArray(details)) return typeof oauthError === "string" ? [{ desc: ErrorInfoSchema, value: { reason: oauthError } }] : [];
  return (details as (JsonObject | null)[]).flatMap((detail) => {
    const { "@type": type, ...value } = detail ?? {};
    const desc = DETAILS.get(String(type));
    return desc === undefined ? [] : readDetail(desc, value);
  });
}

/** Leaves out a detail that its type cannot read. */
function readDetail(desc: DescMessage, value: JsonObject) {
  try {
    return [{ desc, value: fromJson(desc, value, { ignoreUnknownFields: true }) as never }];
  } catch {
    return [];
  }
}
