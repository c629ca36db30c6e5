/** An entry as a message of the API. */
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { type AuditEntry, AuditEntrySchema } from "@holt/api/gen/holt/v1/audit_pb.ts";
import type { EntryContent } from "../../audit/audit-entry.ts";
import { timestampFromText } from "../../lib/clock.ts";
import type { ChainEntry } from "../chain/block.ts";

export function entryMessage({ organization, number, hash, content }: ChainEntry): AuditEntry {
  const place = { organization, number: BigInt(number), hash };
  const parsed = content === undefined ? undefined : parse(content);
  // An entry that somebody has damaged is still listed.
  if (parsed === undefined) return create(AuditEntrySchema, { ...place, message: "this entry was damaged" });
  const { on_behalf_of = {}, protocol = "", client = "", message = "", count = 0, changes = [], request } = parsed.details;
  return create(AuditEntrySchema, {
    ...place,
    time: timestampFromText(parsed.time),
    action: parsed.action,
    actor: parsed.actor,
    onBehalfOf: on_behalf_of,
    remoteAddress: parsed.remote_address,
    target: parsed.target,
    outcome: parsed.outcome,
    requestId: parsed.request_id,
    protocol,
    client,
    message,
    count: BigInt(count),
    changes: changes.map((change) => change as Change),
    ...(request !== undefined && { request: request as JsonObject }),
  });
}

type Change = MessageInitShape<typeof AuditEntrySchema>["changes"] extends (infer C)[] | undefined ? C : never;

function parse(content: string): EntryContent | undefined {
  try {
    const parsed = JSON.parse(content) as EntryContent;
    return Number.isNaN(Date.parse(parsed.time)) || typeof parsed.details !== "object" ? undefined : parsed;
  } catch {
    return undefined;
  }
}
