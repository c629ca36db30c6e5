/** Explains a failure on standard error: one line with the fault, one with the advice, and details on request. */
import type { HoltError } from "@holt/client";
import { exitStatus, Failure } from "./failure.ts";
import { oneLine } from "./output/cell.ts";
import { paint } from "./terminal/color.ts";

/** @returns the exit status */
export function reportFailure(error: unknown, { isVerbose }: { isVerbose: boolean }): number {
  const { message, advice, status, details } = failureFrom(error);
  const lines = [`${paint("red", "holt:", process.stderr)} ${oneLine(message)}`];
  if (advice !== undefined) lines.push(`${paint("dim", "  →", process.stderr)} ${advice}`);
  if (isVerbose) lines.push(...details.map((detail) => `  ${detail}`));
  process.stderr.write(`${lines.join("\n")}\n`);
  return status;
}

/** Files that the command line names. */
const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "no such file or folder"],
  ["EACCES", "permission denied"],
  ["EISDIR", "it is a folder"],
]);

function failureFrom(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isHoltError(error)) return failureOfCall(error);
  const { name, message, stack, code, path, cause } = error as Error & { code?: string; path?: string };
  if (name === "TimeoutError") return brokenAnswer("did not end in time", error);
  // The message by which fetch says that the connection ended within a body.
  if (message === "terminated") return brokenAnswer(`broke off${cause instanceof Error ? `: ${cause.message}` : ""}`, error);
  if (name === "AbortError") return new Failure("interrupted", { status: exitStatus.interrupted });
  const reason = code === undefined ? undefined : FILE_PROBLEMS.get(code);
  if (reason !== undefined) return new Failure(`cannot use ${path ?? "a file"}: ${reason}`, { status: exitStatus.usage });
  return new Failure(message || String(error), { details: stack?.split("\n") ?? [], cause: error });
}

/** A body is read after the call itself has succeeded. */
function brokenAnswer(what: string, cause: unknown): Failure {
  const advice = "check the connection to the server, and try again";
  return new Failure(`the answer of the server ${what}`, { status: exitStatus.unavailable, advice, cause });
}

/** By name, so that commands without a failed call do not load the client's errors. */
function isHoltError(error: unknown): error is HoltError {
  return (error as Error | null)?.name === "HoltError";
}

const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: exitStatus.signedOut,
  PERMISSION_DENIED: exitStatus.denied,
  NOT_FOUND: exitStatus.notFound,
  ALREADY_EXISTS: exitStatus.conflict,
  ABORTED: exitStatus.conflict,
  FAILED_PRECONDITION: exitStatus.precondition,
  INVALID_ARGUMENT: exitStatus.invalid,
  OUT_OF_RANGE: exitStatus.invalid,
  UNAVAILABLE: exitStatus.unavailable,
  DEADLINE_EXCEEDED: exitStatus.unavailable,
  RESOURCE_EXHAUSTED: exitStatus.exhausted,
  CANCELED: exitStatus.interrupted,
};

/** @param valueAdvice where to read which values are accepted */
export function failureOfCall(error: HoltError, valueAdvice = "--help shows what is accepted"): Failure {
  const advice = adviceFor(error, valueAdvice);
  return new Failure(messageOf(error), {
    status: STATUS_OF_CODE[error.code] ?? exitStatus.failed,
    details: detailsOf(error),
    cause: error,
    ...(advice !== undefined && { advice }),
  });
}

function messageOf({ code, message, metadata }: HoltError): string {
  if (code === "PERMISSION_DENIED" && metadata.capability !== undefined)
    return `the capability ${metadata.capability} is missing${metadata.resource ? ` at ${metadata.resource}` : ""}`;
  return message;
}

/** Errors of the API give the rule for names as this pattern. */
const NAME_PATTERN = "^[a-z0-9 ._-]{1,}$";
const NAME_RULE = "use lower-case letters, digits, spaces, dots, underscores and hyphens only";

const OLDER_SERVER = "this server does not serve the operation; its version may be older than that of holt";

const ADVICE_OF_PRECONDITION: Readonly<Record<string, string>> = {
  RESOURCE_NOT_EMPTY: "delete what is in it first; holt tree GROUP shows it",
  RESOURCE_IN_USE: "remove the bindings and mappings of the role first: holt iam role-bindings list --role ROLE",
  TERMS_NOT_ACCEPTED: "accept the terms first: holt iam terms accept ORGANIZATION --document-ids ID",
  LAST_OWNER: "make somebody else an owner first: holt grant IDENTITY owner ORGANIZATION",
  SUBSCRIPTION_PAUSED: "resume it first: holt events deliveries resume-subscription UID",
};

function adviceFor(error: HoltError, valueAdvice: string): string | undefined {
  const { code, message, metadata, retryDelayMs, preconditions } = error;
  if (code === "UNAUTHENTICATED") return "sign in with: holt login URL";
  if (code === "PERMISSION_DENIED")
    return metadata.capability
      ? `ask an owner for a role with ${metadata.capability}: holt grant IDENTITY ROLE ${metadata.resource ?? "GROUP"}`
      : "see which account you use with: holt whoami";
  // The answer of the server to a path that it does not have.
  if (code === "NOT_FOUND" && message === "Not Found") return OLDER_SERVER;
  if (code === "NOT_FOUND") return "check the uid; resources that you may not see do not exist for you (holt whoami)";
  if (code === "ALREADY_EXISTS") return "choose another name, or change the existing resource";
  if (code === "ABORTED") return "somebody changed the same data; run the command again";
  if (code === "INVALID_ARGUMENT" && message.includes(NAME_PATTERN)) return NAME_RULE;
  if (code === "INVALID_ARGUMENT") return `correct the value; ${valueAdvice}`;
  if (code === "FAILED_PRECONDITION")
    return ADVICE_OF_PRECONDITION[preconditions[0]?.type ?? ""] ?? "change the state of the resource first; --verbose has details";
  if (code === "RESOURCE_EXHAUSTED")
    return retryDelayMs === undefined ? "see the limits in docs/errors-and-limits.md" : `try again in ${Math.ceil(retryDelayMs / 1000)} s`;
  if (code === "UNIMPLEMENTED") return OLDER_SERVER;
  if (code === "DEADLINE_EXCEEDED") return "the server is slow or overloaded; try again";
  if (code === "UNAVAILABLE") return adviceForConnection(message);
  return "--verbose shows the id of the request, by which the operator finds it in the log";
}

function adviceForConnection(message: string): string {
  if (/certificate|self.signed|CERT_|altname/i.test(message))
    return "the server's certificate is not trusted; name its authority: holt login URL --ca-file ca.pem, or NODE_EXTRA_CA_CERTS=ca.pem";
  if (/wrong version number|packet length too long/.test(message))
    return "the server may not use TLS; if that is meant, begin its address with http://";
  if (/ENOTFOUND|EAI_AGAIN/.test(message)) return "check the host name, and the context with: holt context list";
  return "check that the server runs and that the address is right: holt context list";
}

function detailsOf({ code, reason, requestId, fieldViolations, preconditions, resource, metadata }: HoltError): string[] {
  return [
    `code ${code}${reason && reason !== code ? `, reason ${reason}` : ""}`,
    ...(requestId ? [`request ${requestId}`] : []),
    ...fieldViolations.map(({ field, description }) => `field ${field}: ${description}`),
    ...preconditions.map(({ type, subject, description }) => `precondition ${type}${subject ? ` of ${subject}` : ""}: ${description}`),
    ...(resource ? [`resource ${resource.type} ${resource.name}`] : []),
    ...Object.entries(metadata).map(([name, value]) => `${name} ${value}`),
  ];
}
