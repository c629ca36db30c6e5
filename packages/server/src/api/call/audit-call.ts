/** Writes the audit entry of a call: of a change in its transaction, of a refusal or a read in the background. */
import { isMessage, type Message, toJsonString } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { actorFromPrincipal } from "../../access/actor.ts";
import { deferAudit } from "../../audit/append.ts";
import type { AuditFacts } from "../../audit/audit-entry.ts";
import { type AuditRecorder, isRefusal, refusalOf } from "../../audit/audit-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import { type HoltError, invalidArgument } from "../../lib/errors.ts";
import { redacted } from "../../lib/redact.ts";
import { isUid, rootOf } from "../../lib/uid.ts";
import { type EventSubjects, subjectOf } from "../../outbox/subject.ts";
import type { Caller } from "./authenticate.ts";
import { type CallMetadata, messageOf, type Reply, type WriteCall } from "./call.ts";
import type { Operation } from "./operation.ts";

export interface CallAudit {
  readonly recorder: AuditRecorder;
  /** Whether successful calls of an operation that only reads are recorded. */
  isAuditedRead(operation: string): boolean;
}

/**
 * @param patterns names of operations; a `*` at the end stands for any rest
 * @param known names of all operations
 * @throws Error for the operator if a pattern matches no operation: the reads that it means would not be audited
 */
export function createReadFilter(patterns: readonly string[], known: readonly string[]): CallAudit["isAuditedRead"] {
  const unknown = patterns.find((pattern) => !known.some((operation) => isMatch(pattern, operation)));
  if (unknown !== undefined) throw new Error(`HOLT_AUDIT_READS: "${unknown}" matches no operation; /docs lists the operations`);
  return patterns.length === 0 ? () => false : (operation) => patterns.some((pattern) => isMatch(pattern, operation));
}

function isMatch(pattern: string, operation: string): boolean {
  return pattern.endsWith("*") ? operation.startsWith(pattern.slice(0, -1)) : operation === pattern;
}

/** A call that has ended or failed. */
export interface EndedCall {
  readonly operation: Operation;
  readonly metadata: CallMetadata;
  /** Undefined until the caller is authenticated. */
  readonly caller: Caller | undefined;
  /** Undefined until the request is read. */
  readonly request: Message | undefined;
}

/** Lets the entry of a write wait in its transaction. */
export function deferCallAudit(call: WriteCall, request: Message, reply: Reply, subjects: EventSubjects): void {
  const { operation, db, now } = call;
  const { subject, group } = subjectOfCall(call, request, reply, subjects);
  const { changes } = db.audit;
  const facts = factsOf({ operation, metadata: call.metadata, caller: call }, subject, group);
  const asked = changes.length > 0 ? undefined : requestText(operation, request);
  deferAudit(db, { ...facts, actor: facts.actor || (db.audit.actor ?? ""), changes, request: asked, outcome: "OK", now });
}

/** @throws INVALID_ARGUMENT for a value that only binary messages can hold, such as a time with negative nanoseconds */
function requestText({ method }: Operation, request: Message): string {
  try {
    return toJsonString(method.input, redacted(method.input, request));
  } catch (error) {
    throw invalidArgument("", `the request has no JSON form: ${error instanceof Error ? error.message : error}`);
  }
}

/** Calls that authenticate the caller themselves, such as the token exchange, issue or refuse tokens: all their failures count. */
export function recordFailure({ recorder }: CallAudit, call: EndedCall, error: HoltError, now: Date): void {
  const { operation, request } = call;
  if (operation.access.mode !== "self" && !isRefusal(error)) return;
  const subject = scopeOf(operation, request);
  recorder.record({ ...factsOf(call, subject, subject), ...refusalOf(error), now });
}

export function recordRead({ recorder, isAuditedRead }: CallAudit, call: EndedCall, clock: Clock): void {
  if (!isAuditedRead(call.operation.name)) return;
  const subject = scopeOf(call.operation, call.request) || uidIn(call.request);
  recorder.record({ ...factsOf(call, subject, subject), outcome: "OK", now: clock.now() });
}

function subjectOfCall(call: WriteCall, request: Message, reply: Reply, subjects: EventSubjects) {
  const { operation, db } = call;
  const named = scopeOf(operation, request) || uidIn(request) || (db.audit.changes[0]?.uid ?? "") || (db.audit.actor ?? "");
  if (operation.event === undefined) return { subject: named, group: named };
  const response = messageOf(reply);
  return subjectOf(isMessage(response, EmptySchema) ? request : response, subjects);
}

/** @param group uid of the group of `subject`; empty or `/` for none */
function factsOf(
  { operation, metadata, caller }: Pick<EndedCall, "operation" | "metadata" | "caller">,
  subject: string,
  group: string,
): Omit<AuditFacts, "now" | "outcome"> {
  const organization = rootOf(isUid(group) ? group : subject);
  const principal = caller?.principal;
  const actor = principal === undefined ? undefined : actorFromPrincipal(principal, caller?.access as Caller["access"]);
  return {
    action: operation.name,
    actor: actor?.subject ?? "",
    onBehalfOf: actor?.claimsAt(group),
    remoteAddress: metadata.remoteAddress,
    protocol: metadata.protocol,
    client: metadata.clientId ?? metadata.userAgent,
    target: subject,
    organization,
    requestId: metadata.requestId,
  };
}

function scopeOf({ access }: Operation, request: Message | undefined): string {
  return access.mode === "scoped" && request !== undefined ? access.scopeOf(request) : "";
}

/** The uid that a request without a scope names, if any. */
function uidIn(request: Message | undefined): string {
  const { uid, id, parent } = (request ?? {}) as { readonly uid?: unknown; readonly id?: unknown; readonly parent?: unknown };
  return [uid, id, parent].find((value): value is string => typeof value === "string" && isUid(value)) ?? "";
}
