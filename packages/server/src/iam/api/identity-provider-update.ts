/** Updates of identity providers: what may change, by whom, and what it changes for those who are signed in. */
import type {
  IdentityProvider,
  IdentityProvider_OIDC,
  IdentityProviderSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { JsonText, WriteCall } from "../../api/call/call.ts";
import type { Mask } from "../../api/resource/field-mask.ts";
import { prepareUpdate, save } from "../../api/resource/write.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { assertGrantable } from "./bindable.ts";
import { assertConfiguration, oidcOf, settleCorrelationRule } from "./identity-provider-configuration.ts";
import { assertHoldsGrants } from "./identity-provider-grants.ts";
import { pkceDenied } from "./identity-provider-pkce.ts";
import { identityProviders, shown } from "./identity-provider-resource.ts";
import { secretAfter, storeSecret, takeSecret } from "./identity-provider-secret.ts";

/** @param isDenied whether the issuer refuses what the update would have it do */
export async function updateProvider(
  incoming: IdentityProvider,
  mask: Mask | undefined,
  isDenied: boolean,
  call: WriteCall,
  dependencies: ServiceDependencies,
): Promise<JsonText<typeof IdentityProviderSchema>> {
  const { db } = call;
  const { current, next } = await prepareUpdate(identityProviders, incoming, mask, db);
  const before = oidcOf(current);
  const secret = await secretAfter(next, mask, db, dependencies);
  assertConfiguration(next, secret.isThere, dependencies.baseUrl);
  const after = oidcOf(next);
  settleCorrelationRule(after, before);
  if (after.issuer !== before.issuer && secret.isKept)
    throw invalidArgument("oidc.client_secret", "client_secret must be given again with another issuer: it would be told to that one");
  if (isDenied) throw pkceDenied();
  if (next.defaultRole !== current.defaultRole)
    await assertGrantable("default_role", next.defaultRole, parentOf(next.uid), call, dependencies);
  const isAnother = comesInOtherwise(before, after);
  if (isAnother) await assertHoldsGrants(next.uid, call, dependencies);

  takeSecret(after);
  // Nothing of a secret is in the body: without another time, a new one alone would look like no change.
  if (secret.isChanged) next.updateTime = timestampFromDate(call.now);
  const saved = await save(identityProviders, { current, next }, call);
  if (secret.isChanged) {
    await storeSecret(next.uid, secret.text, call, dependencies);
    call.changed = true;
  }
  if (isAnother) await startVersion(next.uid, call, dependencies);
  return shown(saved, next.uid, call, dependencies.baseUrl);
}

/** Whether other people than before come in by the provider, or other groups of theirs count. */
function comesInOtherwise(before: IdentityProvider_OIDC, after: IdentityProvider_OIDC): boolean {
  return after.issuer !== before.issuer || after.clientId !== before.clientId || after.groupsClaim !== before.groupsClaim;
}

/** Who signed in before has nothing of the mappings any more. */
async function startVersion(uid: string, { db }: WriteCall, { grants }: ServiceDependencies): Promise<void> {
  await db
    .updateTable("identity_provider")
    .set((eb) => ({ version: eb("version", "+", 1) }))
    .where("uid", "=", uid)
    .execute();
  await grants.changed(db, "*");
}
