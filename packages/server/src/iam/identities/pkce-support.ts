/** Whether an identity provider says that it cannot do what its configuration asks for. Asked when it is configured, and never at sign-in. */
import type { OutboundClient } from "../../outbound/client.ts";
import { isIssuerUrl } from "../tokens/issuer-url.ts";
import { isRecord } from "../tokens/jwk-set.ts";
import type { WaitLimit } from "../tokens/wait-limit.ts";

export interface PkceSupport {
  /**
   * Whether the issuer's discovery document lists methods of PKCE, but not S256. An issuer that does not answer, or answers anything
   * else, denies nothing: it may not be there yet. Never throws.
   */
  isDenied(issuer: string): Promise<boolean>;
}

export interface PkceSupportOptions {
  readonly client: Pick<OutboundClient, "fetchJson">;
  readonly waits: WaitLimit;
}

/** Somebody waits for the answer to a request of theirs. */
const TIMEOUT_MS = 2000;

export function createPkceSupport({ client, waits }: PkceSupportOptions): PkceSupport {
  return {
    async isDenied(issuer) {
      if (!isIssuerUrl(issuer)) return false;
      const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      try {
        return denies(await waits.wait(issuer, () => client.fetchJson(url, { timeoutMs: TIMEOUT_MS })), issuer);
      } catch {
        return false;
      }
    },
  };
}

/** RFC 8414 §2. A document that names another issuer speaks for somebody else. */
function denies(document: unknown, issuer: string): boolean {
  if (!isRecord(document) || document.issuer !== issuer) return false;
  const { code_challenge_methods_supported: methods } = document;
  return Array.isArray(methods) && !methods.includes("S256");
}
