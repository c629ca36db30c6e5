/** Whether an identity provider may be configured with PKCE. */
import type { IdentityProvider } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { HoltError, invalidArgument } from "../../lib/errors.ts";
import { assertConfiguration, oidcOf } from "./identity-provider-configuration.ts";

/** Asks the issuer of what could be stored, before the transaction. What is wrong otherwise is said in it. @param current what an update starts from */
export async function isPkceDenied(
  provider: IdentityProvider,
  { pkceSupport, baseUrl }: ServiceDependencies,
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
  const isAskedAlready = before?.pkceEnabled === true && before.issuer === issuer;
  return pkceEnabled && !isAskedAlready && pkceSupport.isDenied(issuer);
}

export function pkceDenied(): Error {
  return invalidArgument("oidc.pkce_enabled", "the issuer's discovery document lists methods of PKCE, and S256 is not among them");
}
