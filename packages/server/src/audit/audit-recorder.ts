/**
 * The interface of what records refusals and reads. They have no transaction, so a background job writes them in batches:
 * auditing/recorder.ts.
 */
import { Code, codeName, HoltError } from "../lib/errors.ts";
import type { AuditFacts } from "./audit-entry.ts";

export interface AuditRecorder {
  /** Returns at once and never throws. */
  record(facts: AuditFacts): void;
}

/** Whether a failure is one of the caller's rights, and not of the request or the server. */
export function isRefusal(error: HoltError): boolean {
  return error.code === Code.PERMISSION_DENIED || error.code === Code.UNAUTHENTICATED;
}

/** The outcome and the reason of a refusal. */
export function refusalOf(error: unknown): Pick<AuditFacts, "outcome" | "message"> {
  return error instanceof HoltError ? { outcome: codeName(error.code), message: error.message } : { outcome: "REFUSED" };
}
