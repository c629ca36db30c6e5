/** An event as the headers of a CloudEvent in HTTP binary mode; its body is what the outbox has as `data`. Pure. */
import type { OutboxTable } from "../../outbox/tables.ts";

export type EventRow = Pick<OutboxTable, "id" | "type" | "source" | "subject" | "group_uid" | "time" | "body_type" | "extensions" | "data">;

export function headersOf(event: EventRow): Record<string, string> {
  const headers: Record<string, string> = {
    "Content-Type": "application/json",
    "Ce-Specversion": "1.0",
    "Ce-Id": event.id,
    "Ce-Type": encode(event.type),
    "Ce-Source": encode(event.source),
    "Ce-Time": event.time,
    "Ce-Audience": "customer",
  };
  // An attribute that has no value is absent: CloudEvents §2.1.
  if (event.subject !== "") headers["Ce-Subject"] = encode(event.subject);
  if (event.group_uid !== "") headers["Ce-Group"] = encode(event.group_uid);
  if (event.body_type !== "") headers["Ce-Bodytype"] = encode(event.body_type);
  if (event.extensions !== "{}")
    for (const [name, value] of Object.entries(JSON.parse(event.extensions) as Record<string, string>))
      headers[`Ce-${name.charAt(0).toUpperCase()}${name.slice(1)}`] = encode(value);
  return headers;
}

/** CloudEvents HTTP binding §3.1.3.2: what is not printable ASCII, and what would be read as an escape or a quote. */
function encode(value: string): string {
  return /^[!#$&-~]*$/.test(value) ? value : value.toWellFormed().replace(/[^!#$&-~]+/g, (text) => percentEncode(text));
}

function percentEncode(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}
