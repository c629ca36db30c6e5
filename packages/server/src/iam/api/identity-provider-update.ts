/** Updates identity providers: what may change, who may change it, and what a change means for people who are signed in. */
import type {
  IdentityProvider,
  IdentityProvider_OIDC,
  IdentityProviderSchema,
  UpdateIdentityProviderRequest,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { JsonText, WriteCall } from "../../api/call/call.ts";
import { prepareUpdate, save } from "../../api/resource/write.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { assertGrantable } from "./bindable.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { assertConfiguration, oidcOf, settleCorrelationRule } from "./identity-provider-configuration.ts";
import { assertHoldsGrants } from "./identity-provider-grants.ts";
import { pkceDenied } from "./identity-provider-pkce.ts";
import { identityProviders, showProvider } from "./identity-provider-resource.ts";
import { type SecretCollaborators, type SecretUpdate, secretAfter, storeSecret, takeSecret } from "./identity-provider-secret.ts";

export interface UpdateProviderCollaborators extends EscalationCollaborators, SecretCollaborators {
  /** Public URL of this server. */
  readonly baseUrl: string;
  /** Whether a provider may have no default role, as in version 1. Its users then get no role by signing in. */
  readonly isDefaultRoleOptional?: boolean;
}

/** @param isDenied whether the issuer refuses the PKCE that the update asks for */
export async function updateProvider(
  { identityProvider, updateMask }: UpdateIdentityProviderRequest,
  isDenied: boolean,
  call: WriteCall,
  collaborators: UpdateProviderCollaborators,
): Promise<JsonText<typeof IdentityProviderSchema>> {
  const update = await prepareUpdate(identityProviders, identityProvider, updateMask, call);
  const { current, next } = update;
  const before = oidcOf(current);
  const secret = await secretAfter(next, updateMask, call.db, collaborators);
  assertConfiguration(next, secret.isThere, collaborators.baseUrl);
  const after = oidcOf(next);
  settleCorrelationRule(after, before);
  assertSecretFits(after, before, secret);
  if (isDenied) throw pkceDenied();
  if (next.defaultRole !== current.defaultRole) await assertDefaultRole(next, parentOf(next.uid), call, collaborators);
  const admitsOthers = admitsOtherPeople(before, after);
  if (admitsOthers) await assertHoldsGrants(next.uid, call, collaborators);

  takeSecret(after);
  // The body holds no secret: without a new update time, a changed secret alone would look like no change.
  if (secret.isChanged) next.updateTime = timestampFromDate(call.now);
  const saved = await save(identityProviders, update, call);
  if (secret.isChanged) {
    await storeSecret(next.uid, secret.text, call, collaborators);
    call.changed = true;
  }
  if (admitsOthers) await startVersion(next.uid, call, collaborators);
  return showProvider(saved, call, collaborators.baseUrl);
}

/** A stored secret must not be sent to another issuer than the one that it was given for. */
function assertSecretFits(after: IdentityProvider_OIDC, before: IdentityProvider_OIDC, { isKept }: SecretUpdate): void {
  if (after.issuer !== before.issuer && isKept)
    throw invalidArgument(
      "oidc.client_secret",
      "give client_secret again to change the issuer: the stored one must not reach another issuer",
    );
}

/** Throws unless the caller may promise the default role to people who sign in. */
export async function assertDefaultRole(
  { defaultRole: roleUid }: IdentityProvider,
  groupUid: string,
  call: WriteCall,
  collaborators: EscalationCollaborators & Pick<UpdateProviderCollaborators, "isDefaultRoleOptional">,
): Promise<void> {
  if (roleUid === "" && collaborators.isDefaultRoleOptional === true) return;
  await assertGrantable({ field: "default_role", roleUid, groupUid }, call, collaborators);
}

/** Whether the provider admits other people than before, or reports other groups of them. */
function admitsOtherPeople(before: IdentityProvider_OIDC, after: IdentityProvider_OIDC): boolean {
  return after.issuer !== before.issuer || after.clientId !== before.clientId || after.groupsClaim !== before.groupsClaim;
}

/** Sessions that signed in before lose the roles of the mappings. */
async function startVersion(uid: string, { db }: WriteCall, { grants }: { readonly grants: Grants }): Promise<void> {
  await db
    .updateTable("identity_provider")
    .set((eb) => ({ version: eb("version", "+", 1) }))
    .where("uid", "=", uid)
    .execute();
  await grants.recordChange(db, "*");
}
