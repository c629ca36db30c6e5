/** Identity providers: an organization's own sign-in. Client secrets come in and are sealed; no call and no event gives them out. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type CreateIdentityProviderRequest,
  type IdentityProvider,
  IdentityProviderSchema,
  IdentityProvidersService,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { sql } from "kysely";
import type { JsonText, WriteCall } from "../../api/call/call.ts";
import { implement } from "../../api/call/implement.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import { find } from "../../api/resource/get.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { assertGroupExists, create, prepareCreate, remove } from "../../api/resource/write.ts";
import { dropCounts } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { failedPrecondition, invalidArgument, notFound } from "../../lib/errors.ts";
import { isInRoot, parentOf } from "../../lib/uid.ts";
import { readPolicies } from "../policy/sign-in-policy.ts";
import { deleteMappings } from "./external-group-role-mappings.ts";
import { assertConfiguration, oidcOf, settleCorrelationRule } from "./identity-provider-configuration.ts";
import { isPkceDenied, type PkceCollaborators, pkceDenied } from "./identity-provider-pkce.ts";
import { identityProviders, showProvider, showProviders } from "./identity-provider-resource.ts";
import { secretIn, storeSecret, takeSecret } from "./identity-provider-secret.ts";
import { assertDefaultRole, type UpdateProviderCollaborators, updateProvider } from "./identity-provider-update.ts";
import { type ScimTokenCollaborators, scimTokenMethods } from "./scim-tokens.ts";

export interface IdentityProvidersCollaborators extends PkceCollaborators, UpdateProviderCollaborators, ScimTokenCollaborators {
  readonly pageTokens: PageTokens;
  /** Removes the users and groups that a directory has provisioned, a part in each transaction. */
  emptyDirectory(idpUid: string): Promise<void>;
}

export function identityProvidersService(collaborators: IdentityProvidersCollaborators) {
  const { grants, pageTokens, baseUrl } = collaborators;
  return implement(IdentityProvidersService, {
    ...standardMethods(IdentityProvidersService, identityProviders, {
      pageTokens,
      show: (bodies, call, view) => showProviders(bodies, call, view, baseUrl),
    }),
    ...scimTokenMethods(collaborators),

    createIdentityProvider: {
      kind: "write",
      prepare: ({ identityProvider }) => isPkceDenied(identityProvider as IdentityProvider, collaborators),
      handle: (request, call, isDenied: boolean) => createProvider(request, isDenied, call, collaborators),
    },

    updateIdentityProvider: {
      kind: "write",
      async prepare({ identityProvider, updateMask }, call) {
        const incoming = identityProvider as IdentityProvider;
        const current = await find(identityProviders, incoming.uid, call.db);
        if (current === undefined) return false;
        const next = applyMask(IdentityProviderSchema, current, incoming, updateMask);
        return isPkceDenied(next, collaborators, current);
      },
      handle: (request, call, isDenied: boolean) => updateProvider(request, isDenied, call, collaborators),
    },

    deleteIdentityProvider: {
      kind: "write",
      async prepare({ uid }, call) {
        await assertNotRequired(uid, call.db);
        await collaborators.emptyDirectory(uid);
      },
      async handle({ uid }, call) {
        await deleteIdentityProvider(uid, call);
        await grants.recordChange(call.db, "*");
        return createMessage(EmptySchema);
      },
    },
  });
}

async function createProvider(
  { parent, identityProvider: given }: CreateIdentityProviderRequest,
  isDenied: boolean,
  call: WriteCall,
  collaborators: IdentityProvidersCollaborators,
): Promise<JsonText<typeof IdentityProviderSchema>> {
  const { baseUrl } = collaborators;
  const provider = prepareCreate(identityProviders, given, call.now);
  assertConfiguration(provider, secretIn(provider) !== "", baseUrl);
  const oidc = oidcOf(provider);
  settleCorrelationRule(oidc);
  await assertGroupExists(parent, call.db);
  if (!isInRoot(parent)) throw invalidArgument("parent", "an identity provider belongs to an organization; this group is a folder");
  if (isDenied) throw pkceDenied();
  await assertDefaultRole(provider, parent, call, collaborators);
  const secret = takeSecret(oidc);
  const created = await create(identityProviders, parent, provider, call);
  if (secret !== "") await storeSecret(provider.uid, secret, call, collaborators);
  return showProvider(created, call, baseUrl);
}

/** Without its last provider, nobody could satisfy an organization that requires its own. */
async function assertNotRequired(uid: string, db: ReadDb): Promise<void> {
  const organization = parentOf(uid);
  const policy = (await readPolicies(db, [organization])).get(organization);
  if (policy?.requiresOwnProvider !== true) return;
  const others = db.selectFrom("identity_provider").select("uid").where("parent", "=", organization).where("uid", "<>", uid);
  if ((await others.limit(1).executeTakeFirst()) !== undefined) return;
  throw failedPrecondition(
    "OWN_PROVIDER_REQUIRED",
    "the organization requires its own identity provider, and this is the last one; change the sign-in settings first",
  );
}

async function deleteIdentityProvider(uid: string, { db }: WriteCall): Promise<void> {
  // First the group, as its deletion does. Changes of the settings lock it, too.
  await db.dialect.forUpdate(db.selectFrom("group").select("uid").where("uid", "=", parentOf(uid))).execute();
  await assertNotRequired(uid, db);
  const locked = await db.dialect.forDelete(db.selectFrom("identity_provider").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (locked === undefined) throw notFound("IdentityProvider", uid);
  await deleteMappings(db, sql<boolean>`parent = ${uid}`);
  await remove(identityProviders, uid, db);
  await dropCounts(db, uid);
}
