/** Fetches the discovery documents of issuers (OpenID Connect Discovery 1.0 §4). */
import { isRecord } from "../../lib/is-record.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OutboundError } from "../../outbound/error.ts";

export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

/** §4.3: the document must name the issuer, byte for byte. @throws OutboundError */
export async function fetchDiscoveryDocument(
  client: OutboundClient,
  issuer: string,
  limits: Parameters<OutboundClient["fetchJson"]>[1],
): Promise<Record<string, unknown>> {
  const document = await client.fetchJson(discoveryUrl(issuer), limits);
  if (!isRecord(document) || document.issuer !== issuer) throw new OutboundError("body", "the discovery document names another issuer");
  return document;
}
