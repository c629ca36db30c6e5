/** Client secrets of identity providers: taken out of the message that brings them, and stored sealed in a column of their own. */
import type { IdentityProvider, IdentityProvider_OIDC } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import type { Mask } from "../../api/resource/field-mask.ts";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { findIdentityProvider, openClientSecret } from "../identities/identity-provider-record.ts";
import { clientSecretContext } from "../secrets/contexts.ts";
import type { Secrets } from "../secrets/secrets.ts";

export interface SecretCollaborators {
  readonly secrets: Secrets;
}

/** The effect of an update on the stored secret. */
export interface SecretUpdate {
  /** The new secret; empty to clear or to keep the stored one. */
  readonly text: string;
  /** Whether there is a secret after the update. */
  readonly isThere: boolean;
  readonly isKept: boolean;
  readonly isChanged: boolean;
}

/**
 * An empty secret keeps the stored one, unless the mask names exactly this field: clients echo whole resources, which never show a secret.
 */
export async function secretAfter(
  next: IdentityProvider,
  mask: Mask | undefined,
  db: ReadDb,
  { secrets }: SecretCollaborators,
): Promise<SecretUpdate> {
  const record = await findIdentityProvider(db, next.uid);
  if (record === undefined) throw notFound("IdentityProvider", next.uid);
  const isStored = record.clientSecret !== "";
  const text = secretIn(next);
  if (text !== "") {
    const isSame = isStored && openOrUndefined(() => openClientSecret(record, secrets)) === text;
    return { text, isThere: true, isKept: false, isChanged: !isSame };
  }
  const isKept = isStored && !(mask?.paths ?? []).some((path) => /^oidc\.client(_s|S)ecret$/.test(path));
  return { text, isThere: isKept, isKept, isChanged: isStored && !isKept };
}

/** A secret whose key is lost can only be replaced. */
function openOrUndefined(open: () => string | undefined): string | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}

export function secretIn({ configuration }: IdentityProvider): string {
  return configuration.case === "oidc" ? configuration.value.clientSecret : "";
}

/** Removes the secret from the message. */
export function takeSecret(oidc: IdentityProvider_OIDC): string {
  const { clientSecret } = oidc;
  oidc.clientSecret = "";
  return clientSecret;
}

/** @param text the new secret; empty to clear it */
export async function storeSecret(uid: string, text: string, { db }: WriteCall, { secrets }: SecretCollaborators): Promise<void> {
  const sealed = text === "" ? "" : secrets.seal(text, clientSecretContext(uid));
  await db.updateTable("identity_provider").set({ client_secret: sealed }).where("uid", "=", uid).execute();
}
