/** Identity providers: an organization's own sign-in. Their client secrets come in and are sealed; no call and no event gives them out. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type IdentityProvider,
  IdentityProviderSchema,
  IdentityProvidersService,
  ListIdentityProvidersResponseSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read } from "../../api/call/implement.ts";
import { applyMask, writableFields } from "../../api/resource/field-mask.ts";
import { find, getBody } from "../../api/resource/get.ts";
import { listPage, listResponse } from "../../api/resource/list.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { assertGroupExists, create, remove } from "../../api/resource/write.ts";
import { appendToCounts, dropCounts } from "../../db/resource-count.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import { assertGrantable } from "./bindable.ts";
import { assertConfiguration, oidcOf, settleCorrelationRule } from "./identity-provider-configuration.ts";
import { isPkceDenied, pkceDenied } from "./identity-provider-pkce.ts";
import { identityProviders, shown, summarized } from "./identity-provider-resource.ts";
import { secretIn, storeSecret, takeSecret } from "./identity-provider-secret.ts";
import { updateProvider } from "./identity-provider-update.ts";
import { scimTokenMethods } from "./scim-tokens.ts";

export function identityProvidersService(dependencies: ServiceDependencies) {
  const { grants, pageTokens, baseUrl } = dependencies;
  return implement(IdentityProvidersService, {
    ...standardMethods(IdentityProvidersService, identityProviders, pageTokens),
    ...scimTokenMethods(dependencies),

    getIdentityProvider: read(async ({ uid }, call) => shown(await getBody(identityProviders, uid, call.db), uid, call, baseUrl)),

    listIdentityProviders: read(async (request, call) => {
      const page = await listPage(identityProviders, request, call, pageTokens);
      return listResponse(ListIdentityProvidersResponseSchema, { ...page, bodies: await summarized(page.bodies, call.db, baseUrl) });
    }),

    createIdentityProvider: {
      kind: "write",
      prepare: ({ identityProvider }) => isPkceDenied(identityProvider as IdentityProvider, dependencies),
      async handle({ parent, identityProvider: given }, call, isDenied: boolean) {
        const provider = writableFields(IdentityProviderSchema, given as IdentityProvider);
        assertConfiguration(provider, secretIn(provider) !== "", baseUrl);
        const oidc = oidcOf(provider);
        settleCorrelationRule(oidc);
        await assertGroupExists(parent, call.db);
        if (!isInRoot(parent)) throw invalidArgument("parent", "an identity provider is made in an organization; this group is a folder");
        if (isDenied) throw pkceDenied();
        await assertGrantable("default_role", provider.defaultRole, parent, call, dependencies);
        const secret = takeSecret(oidc);
        const made = await create(identityProviders, parent, provider, call);
        if (secret !== "") await storeSecret(provider.uid, secret, call, dependencies);
        return shown(made, provider.uid, call, baseUrl);
      },
    },

    updateIdentityProvider: {
      kind: "write",
      async prepare({ identityProvider, updateMask }, call) {
        const incoming = identityProvider as IdentityProvider;
        const current = await find(identityProviders, incoming.uid, call.db);
        if (current === undefined) return false;
        const next = applyMask(IdentityProviderSchema, current, incoming, updateMask);
        return isPkceDenied(next, dependencies, current);
      },
      handle: ({ identityProvider, updateMask }, call, isDenied: boolean) =>
        updateProvider(identityProvider as IdentityProvider, updateMask, isDenied, call, dependencies),
    },

    deleteIdentityProvider: {
      kind: "write",
      prepare: ({ uid }) => dependencies.emptyDirectory(uid),
      async handle({ uid }, call) {
        await deleteIdentityProvider(uid, call);
        await grants.changed(call.db, "*");
        return createMessage(EmptySchema);
      },
    },
  });
}

async function deleteIdentityProvider(uid: string, { db }: WriteCall): Promise<void> {
  const locked = await db.dialect.forDelete(db.selectFrom("identity_provider").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (locked === undefined) throw notFound("IdentityProvider", uid);
  const mappings = await db.deleteFrom("external_group_role_mapping").where("parent", "=", uid).returning("uid").execute();
  await appendToCounts(
    db,
    "external_group_role_mapping",
    mappings.map((mapping) => mapping.uid),
    -1,
  );
  await remove(identityProviders, uid, db);
  await dropCounts(db, uid);
}
