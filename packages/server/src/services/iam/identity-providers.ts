/** Identity providers: an organization's own sign-in. Their client secrets come in and are sealed; no call and no event gives them out. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type IdentityProvider,
  type IdentityProvider_OIDC,
  type IdentityProvider_SCIM,
  IdentityProvider_SCIMSchema,
  IdentityProviderSchema,
  IdentityProvidersService,
  ListIdentityProvidersResponseSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { clientSecretContext, findIdentityProvider, openClientSecret } from "../../auth/identity-provider-record.ts";
import { type Call, JsonText, type WriteCall } from "../../call/call.ts";
import { implement, read, write } from "../../call/implement.ts";
import { appendToCounts, dropCounts } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { HoltError, invalidArgument, notFound } from "../../lib/errors.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { isInRoot, parentOf } from "../../lib/uid.ts";
import { defineResource } from "../../resource/define.ts";
import { applyMask, type Mask, writableFields } from "../../resource/field-mask.ts";
import { find, getBody } from "../../resource/get.ts";
import { listPage, listResponse } from "../../resource/list.ts";
import { standardMethods } from "../../resource/standard-methods.ts";
import { assertGroupExists, create, prepareUpdate, remove, save } from "../../resource/write.ts";
import type { ServiceDependencies } from "../dependencies.ts";
import { assertGrantable } from "./bindable.ts";
import { assertConfiguration, oidcOf, settleCorrelationRule } from "./identity-provider-configuration.ts";
import { assertHoldsGrants } from "./identity-provider-grants.ts";
import { findScimToken, findScimTokens, scimEndpoint, scimState, scimSummary } from "./scim-state.ts";
import { scimTokenMethods } from "./scim-tokens.ts";

/** The body has neither the client secret nor what SCIM is like. */
export const identityProviders = defineResource(IdentityProviderSchema, {
  table: "identity_provider",
  columns: (provider) => {
    const { issuer, clientId } = oidcOf(provider);
    return { issuer, client_id: clientId, default_role: provider.defaultRole };
  },
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
});

const encodeScim = compileJsonEncoder(IdentityProvider_SCIMSchema);

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
        return signsInAlike(oidcOf(current), next) ? false : isPkceDenied(next, dependencies);
      },
      handle: ({ identityProvider, updateMask }, call, isDenied: boolean) =>
        update(identityProvider as IdentityProvider, updateMask, isDenied, call, dependencies),
    },

    deleteIdentityProvider: write(async ({ uid }, call) => {
      const { db } = call;
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
      await grants.changed(db, "*");
      return createMessage(EmptySchema);
    }),
  });
}

async function update(
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
  const letsInOthers = !signsInAlike(before, next) || after.groupsClaim !== before.groupsClaim;
  if (letsInOthers) await assertHoldsGrants(next.uid, call, dependencies);

  takeSecret(after);
  // Nothing of a secret is in the body: without another time, a new one alone would look like no change.
  if (secret.isChanged) next.updateTime = timestampFromDate(call.now);
  const saved = await save(identityProviders, { current, next }, call);
  if (secret.isChanged) {
    await storeSecret(next.uid, secret.text, call, dependencies);
    call.changed = true;
  }
  if (letsInOthers) await startVersion(next.uid, call, dependencies);
  return shown(saved, next.uid, call, dependencies.baseUrl);
}

/** Whether the same people come in by the provider. */
function signsInAlike(before: IdentityProvider_OIDC, provider: IdentityProvider): boolean {
  const { configuration } = provider;
  if (configuration.case !== "oidc") return false;
  const { issuer, clientId, pkceEnabled } = configuration.value;
  return issuer === before.issuer && clientId === before.clientId && pkceEnabled === before.pkceEnabled;
}

async function startVersion(uid: string, { db }: WriteCall, { grants }: ServiceDependencies): Promise<void> {
  await db
    .updateTable("identity_provider")
    .set((eb) => ({ version: eb("version", "+", 1) }))
    .where("uid", "=", uid)
    .execute();
  await grants.changed(db, "*");
}

/** What an update makes of the stored secret. */
interface SecretUpdate {
  /** The new one; the empty string to clear it, or to keep what is stored. */
  readonly text: string;
  readonly isThere: boolean;
  readonly isKept: boolean;
  readonly isChanged: boolean;
}

/** An empty secret keeps the stored one, unless the mask names this very field: clients echo whole resources, which never show it. */
async function secretAfter(
  next: IdentityProvider,
  mask: Mask | undefined,
  db: ReadDb,
  { secrets }: ServiceDependencies,
): Promise<SecretUpdate> {
  const record = await findIdentityProvider(db, next.uid);
  if (record === undefined) throw notFound("IdentityProvider", next.uid);
  const isStored = record.clientSecret !== "";
  const text = secretIn(next);
  if (text !== "") {
    const isSame = isStored && openedOrNone(() => openClientSecret(record, secrets)) === text;
    return { text, isThere: true, isKept: false, isChanged: !isSame };
  }
  const isKept = isStored && !(mask?.paths ?? []).some((path) => /^oidc\.client(_s|S)ecret$/.test(path));
  return { text, isThere: isKept, isKept, isChanged: isStored && !isKept };
}

/** A secret whose key is lost can only be replaced. */
function openedOrNone(open: () => string | undefined): string | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}

function secretIn({ configuration }: IdentityProvider): string {
  return configuration.case === "oidc" ? configuration.value.clientSecret : "";
}

function takeSecret(oidc: IdentityProvider_OIDC): string {
  const { clientSecret } = oidc;
  oidc.clientSecret = "";
  return clientSecret;
}

async function storeSecret(uid: string, text: string, { db }: WriteCall, { secrets }: ServiceDependencies): Promise<void> {
  const sealed = text === "" ? "" : secrets.seal(text, clientSecretContext(uid));
  await db.updateTable("identity_provider").set({ client_secret: sealed }).where("uid", "=", uid).execute();
}

/** Asks the issuer of what could be stored, before the transaction. What is wrong otherwise is said in it. */
async function isPkceDenied(provider: IdentityProvider, { pkceSupport, baseUrl }: ServiceDependencies): Promise<boolean> {
  try {
    assertConfiguration(provider, true, baseUrl);
  } catch (error) {
    if (error instanceof HoltError) return false;
    throw error;
  }
  const { issuer, pkceEnabled } = oidcOf(provider);
  return pkceEnabled && pkceSupport.isDenied(issuer);
}

function pkceDenied(): Error {
  return invalidArgument("oidc.pkce_enabled", "the issuer's discovery document lists methods of PKCE, and S256 is not among them");
}

async function shown(
  { text }: JsonText<typeof IdentityProviderSchema>,
  uid: string,
  { db, now }: Call,
  baseUrl: string,
): Promise<JsonText<typeof IdentityProviderSchema>> {
  const scim = scimState(await findScimToken(db, uid), scimEndpoint(baseUrl, uid), now);
  return new JsonText(IdentityProviderSchema, withScim(text, scim));
}

async function summarized(bodies: readonly string[], db: ReadDb, baseUrl: string): Promise<string[]> {
  const uids = bodies.map((body) => (JSON.parse(body) as { uid: string }).uid);
  const tokens = await findScimTokens(db, uids);
  return bodies.map((body, i) => {
    const uid = uids[i] ?? "";
    return withScim(body, scimSummary(tokens.get(uid), scimEndpoint(baseUrl, uid)));
  });
}

/** The last field of the message, so it stands at the end of the body. */
function withScim(body: string, scim: IdentityProvider_SCIM): string {
  return `${body.slice(0, -1)},"scim":${encodeScim(scim)}}`;
}
