/** What an identity provider is to the resource engine, and how it is shown: with its SCIM state, which stands beside the body. */
import {
  type IdentityProvider_SCIM,
  IdentityProvider_SCIMSchema,
  IdentityProviderSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { type Call, JsonText } from "../../api/call/call.ts";
import { defineResource } from "../../api/resource/define.ts";
import type { ReadDb } from "../../db/store.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { oidcOf } from "./identity-provider-configuration.ts";
import { findScimToken, findScimTokens, scimEndpoint, scimState, scimSummary } from "./scim-state.ts";

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

/** As Get shows it. */
export async function shown(
  { text }: JsonText<typeof IdentityProviderSchema>,
  uid: string,
  { db, now }: Call,
  baseUrl: string,
): Promise<JsonText<typeof IdentityProviderSchema>> {
  const scim = scimState(await findScimToken(db, uid), scimEndpoint(baseUrl, uid), now);
  return new JsonText(IdentityProviderSchema, withScim(text, scim));
}

/** As lists show them. */
export async function summarized(bodies: readonly string[], db: ReadDb, baseUrl: string): Promise<string[]> {
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
