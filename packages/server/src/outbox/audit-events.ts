/** Appends the audit entries of changes that are not calls, such as a push: one for each event of an actor. */
import type { Actor } from "../access/principal.ts";
import { appendAudit } from "../audit/append.ts";
import type { WriteDb } from "../db/store.ts";
import { isUid, rootOf } from "../lib/uid.ts";

export interface AuditedEvent {
  /** Event type without the vendor's prefix. */
  readonly type: string;
  readonly subject: string;
  readonly group: string;
  /** Undefined for the server's own work, which is not audited. */
  readonly actor: Actor | undefined;
  readonly now: Date;
  /** JSON without secrets. */
  body(): string;
}

/** Pulls change nothing. */
const READ = /^registry\.pull\./;

/** Appends nothing in a transaction whose owner appends an entry for all of it. */
export async function auditEvents(db: WriteDb, events: readonly AuditedEvent[]): Promise<void> {
  if (db.audit.isCovered) return;
  for (const { type, subject, group, actor, now, body } of events) {
    if (actor === undefined || READ.test(type)) continue;
    await appendAudit(db, {
      action: type,
      actor: actor.subject,
      onBehalfOf: actor.claimsAt(group),
      remoteAddress: actor.remoteAddress,
      target: subject,
      organization: rootOf(isUid(group) ? group : subject),
      outcome: "OK",
      request: body(),
      now,
    });
  }
}
