/** Checks that an identity provider supports PKCE with S256. Used when a provider is configured, never at sign-in. */
import { isRecord } from "../../lib/is-record.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { discoveryUrl } from "../tokens/discovery-document.ts";
import { isIssuerUrl } from "../tokens/issuer-url.ts";
import type { WaitLimit } from "../tokens/wait-limit.ts";

export interface PkceSupport {
  /**
   * Whether the issuer's discovery document lists PKCE methods without S256. False if the issuer does not answer or
   * answers anything else: it may not be running yet. Never throws.
   */
  lacksS256(issuer: string): Promise<boolean>;
}

export interface PkceSupportOptions {
  readonly client: Pick<OutboundClient, "fetchJson">;
  readonly waits: WaitLimit;
}

/** Short, because the caller of the configuration request waits. */
const TIMEOUT_MS = 2000;

export function createPkceSupport({ client, waits }: PkceSupportOptions): PkceSupport {
  return {
    async lacksS256(issuer) {
      if (!isIssuerUrl(issuer)) return false;
      try {
        return excludesS256(await waits.wait(issuer, () => client.fetchJson(discoveryUrl(issuer), { timeoutMs: TIMEOUT_MS })), issuer);
      } catch {
        return false;
      }
    },
  };
}

/** RFC 8414 §2. A document that names another issuer is ignored. */
function excludesS256(document: unknown, issuer: string): boolean {
  if (!isRecord(document) || document.issuer !== issuer) return false;
  const { code_challenge_methods_supported: methods } = document;
  return Array.isArray(methods) && !methods.includes("S256");
}
