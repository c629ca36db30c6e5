/** The places that entries can be streamed to: a file, a syslog server, a webhook. */
import { fileURLToPath } from "node:url";
import { parseHead } from "../../audit/audit-entry.ts";
import type { Clock } from "../../lib/clock.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { sendToSyslog } from "../../outbound/syslog.ts";
import type { ChainEntry } from "../chain/block.ts";
import { lineOf } from "../entry-line.ts";
import { appendLines } from "./append-lines.ts";

/** Resolves once the target has the entries. Rejects if that is not certain; they are then sent again. */
export type Target = (entries: readonly ChainEntry[]) => Promise<void>;

export interface TargetParts {
  readonly client: OutboundClient;
  readonly sign: (claims: Readonly<Record<string, unknown>>) => Promise<string>;
  readonly clock: Clock;
  readonly issuer: string;
}

const TOKEN_LIFE_S = 300;
const WEBHOOK_TIMEOUT_MS = 30_000;

export function createTarget(url: URL, parts: TargetParts): Target {
  // Opens the file for each batch, so that it can be rotated.
  if (url.protocol === "file:") return (entries) => appendLines(fileURLToPath(url), linesOf(entries));
  if (url.protocol.startsWith("syslog+")) return (entries) => sendToSyslog(url, entries.map(syslogMessageOf));
  return (entries) => post(url, linesOf(entries), parts);
}

function linesOf(entries: readonly ChainEntry[]): string {
  return entries.map((entry) => `${lineOf(entry)}\n`).join("");
}

function syslogMessageOf(entry: ChainEntry) {
  const { time, outcome } = headOf(entry);
  return { severity: outcome === "OK" ? 6 : 4, time, text: lineOf(entry) };
}

/** An entry that was damaged since it was sealed is still sent. */
function headOf({ content = "" }: ChainEntry): { readonly time: string; readonly outcome: string } {
  try {
    return parseHead(content);
  } catch {
    return { time: "-", outcome: "damaged" };
  }
}

async function post(url: URL, body: string, { client, sign, clock, issuer }: TargetParts): Promise<void> {
  const iat = Math.floor(clock.now().getTime() / 1000);
  const webhook = { digest: `sha256:${sha256Hex(body)}` };
  const token = await sign({ iss: issuer, aud: url.origin, sub: "audit", webhook, iat, exp: iat + TOKEN_LIFE_S });
  const { status } = await client.request({
    url: url.href,
    method: "POST",
    headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${token}` },
    body,
    timeoutMs: WEBHOOK_TIMEOUT_MS,
    ignoreBody: true,
  });
  if (status < 200 || status > 299) throw new Error(`${url.origin} answered with status ${status}`);
}
