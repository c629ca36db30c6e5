/** Authenticates a directory by the SCIM token of the identity provider that the path names. */

import { bearerToken } from "../../api/call/authenticate.ts";
import type { ReadDb } from "../../db/store.ts";
import { findIdentityProvider, type IdentityProviderRecord } from "../../iam/identities/identity-provider-record.ts";
import { verifyScimToken } from "../../iam/identities/scim-credential.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { ScimError } from "../scim-error.ts";

/**
 * A missing provider, a wrong token and a provider without a token lead to the same error.
 * @throws UNAUTHENTICATED; ScimError 403 if the token is right but provisioning is switched off
 */
export async function authenticateDirectory(
  db: ReadDb,
  idpUid: string | undefined,
  authorization: string | undefined,
  now: Date,
): Promise<IdentityProviderRecord> {
  const found = await verifyScimToken(db, bearerToken(authorization), now);
  const provider = found === undefined || found.idpUid !== idpUid ? undefined : await findIdentityProvider(db, found.idpUid);
  if (found === undefined || provider === undefined) throw unauthenticated("this is not a SCIM token of this identity provider");
  if (!found.isEnabled)
    throw new ScimError(403, undefined, "provisioning is switched off for this identity provider: its administrator can enable SCIM");
  return provider;
}
