/** Translates errors of S3 into errors for callers. */
import { HoltError, unavailable } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";

/** There is no such object. */
export class NoSuchObject extends Error {
  override readonly name = "NoSuchObject";
}

/** The multipart upload was completed or aborted, or some part of it is another one than expected. */
export class NoSuchMultipart extends Error {
  override readonly name = "NoSuchMultipart";
}

/** The object exists already, or is another one than expected. */
export class ObjectDiffers extends Error {
  override readonly name = "ObjectDiffers";
}

const MISSING = new Set(["NoSuchKey", "NotFound"]);
const NO_MULTIPART = new Set(["NoSuchUpload", "InvalidPart", "InvalidPartOrder"]);
const DIFFERENT = new Set(["PreconditionFailed", "ConditionalRequestConflict"]);
/** Names that S3 and compatible servers use when there is no space or a quota is exhausted. */
const FULL = new Set(["QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage", "StorageFull"]);
/** The bytes were damaged on their way. The SDK does not repeat such requests. */
const DAMAGED = new Set(["BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch", "InvalidDigest"]);

/** An error of the SDK: a ServiceException, or a failure of the network or of the credentials. */
interface S3Error extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
}

/**
 * @param value what each answer of S3 has: an ETag, or the id of an upload. A page that a proxy sends with status 200 lacks it.
 * @throws Error if it is missing
 */
export function required(value: string | undefined): string {
  if (value === undefined || value === "") throw new Error("the answer is not that of an S3 service");
  return value;
}

/** Whether the request or its answer was damaged or cut on the way, so that it can be repeated at once. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Error && (DAMAGED.has(error.name) || (error as NodeJS.ErrnoException).code === "ECONNRESET");
}

/** @param action what was tried, such as "put an object" */
export function errorFromS3(error: unknown, action: string, log: Log): unknown {
  if (!(error instanceof Error) || error instanceof HoltError) return error;
  const { name, message, $metadata: { httpStatusCode: status, requestId } = {} } = error as S3Error;
  if (MISSING.has(name)) return new NoSuchObject(message);
  if (NO_MULTIPART.has(name)) return new NoSuchMultipart(message);
  if (DIFFERENT.has(name)) return new ObjectDiffers(message);
  log.error({ error: name, reason: message.slice(0, 500), status, requestId }, `S3: cannot ${action}`);
  const isFull = FULL.has(name) || status === 507;
  return unavailable(isFull ? "there is no space left for blobs" : "the bucket of the blobs cannot be read or written", { cause: error });
}

const WRONG_ENDPOINT = "the answer is not that of an S3 service; check HOLT_S3_ENDPOINT";
const WRONG_REGION = "set HOLT_S3_REGION to the region of the bucket";
/** By the name or, where the SDK has no name for it, the message of an error. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/^NoSuchBucket$/, "create the bucket, or correct its name or HOLT_S3_ENDPOINT"],
  [/^InvalidAccessKeyId$/, "check AWS_ACCESS_KEY_ID and HOLT_S3_ENDPOINT"],
  [/^SignatureDoesNotMatch$/, "check AWS_SECRET_ACCESS_KEY"],
  [/^AccessDenied$/, "give the credentials the rights that docs/scaling.md lists"],
  [/^CredentialsProviderError$/, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role"],
  [/^(Region is missing|PermanentRedirect|AuthorizationHeaderMalformed)$/, WRONG_REGION],
  [/^RequestTimeTooSkewed$/, "synchronize the clock of this machine"],
];

/** The reason why a bucket cannot be used, and what to do about it. @param error of the bucket, with that of the SDK as its cause */
export function describeS3Error(error: unknown): string {
  const { name, message } = ((error as Error).cause instanceof Error ? (error as Error).cause : error) as Error;
  if (message.includes("XML parse error")) return WRONG_ENDPOINT;
  const [, remedy] = REMEDIES.find(([pattern]) => pattern.test(name) || pattern.test(message)) ?? [];
  return `${message.trim() || name}${remedy === undefined ? "" : `; ${remedy}`}`;
}
