/** Whether an identity provider may be configured with PKCE. */
import type { IdentityProvider } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { HoltError, invalidArgument } from "../../lib/errors.ts";
import type { PkceSupport } from "../identities/pkce-support.ts";
import { assertConfiguration, oidcOf } from "./identity-provider-configuration.ts";

export interface PkceCollaborators {
  readonly pkceSupport: PkceSupport;
  /** Public URL of this server. */
  readonly baseUrl: string;
}

/**
 * Asks the issuer whether it refuses PKCE; runs before the transaction. A provider with any other fault passes: the transaction reports it.
 * @param current the stored provider that an update starts from
 */
export async function isPkceDenied(
  provider: IdentityProvider,
  { pkceSupport, baseUrl }: PkceCollaborators,
  current?: IdentityProvider,
): Promise<boolean> {
  try {
    assertConfiguration(provider, true, baseUrl);
  } catch (error) {
    if (error instanceof HoltError) return false;
    throw error;
  }
  const { issuer, pkceEnabled } = oidcOf(provider);
  const before = current && oidcOf(current);
  const wasAsked = before?.pkceEnabled === true && before.issuer === issuer;
  return pkceEnabled && !wasAsked && pkceSupport.lacksS256(issuer);
}

export function pkceDenied(): Error {
  return invalidArgument("oidc.pkce_enabled", "the issuer's discovery document lists PKCE methods without S256");
}
